package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/supervisor"
)

// machine is a runner on a machine of its own, and the server that it asks.
type machine struct {
	t      *testing.T
	runner *Runner
	home   *home.Home
	// did lists what the runner did, in order. taken are the sessions that another runner has.
	did   []string
	taken []string
	// ends has the functions that say that a started supervisor ended, by session.
	ends map[string]func(error)
	fail error
	// manifest is that of every session.
	manifest json.RawMessage
	// repeated says that the server has answered the claims before.
	repeated bool
	// pid is the process of the supervisors that are started.
	pid int
	// away says that the server cannot take what was blocked, or an exit.
	away bool
	// claims are the claims that were made.
	claims []*commands.ClaimSession
}

func newMachine(t *testing.T, limit int) *machine {
	t.Helper()
	h, err := home.Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	m := &machine{t: t, home: h, ends: map[string]func(error){}}
	m.runner = New(Config{
		Name:   "local",
		Host:   "here",
		Limit:  limit,
		Server: m,
		Home:   h,
		Start: func(c supervisor.Config, ended func(error)) (int, error) {
			if m.fail != nil {
				return 0, m.fail
			}
			m.did = append(m.did,
				fmt.Sprintf("start %s run %d %s %s", c.SessionID, c.Run, c.SessionToken, c.RunnerToken))
			m.ends[c.SessionID] = ended
			return m.pid, nil
		},
		Logger: slog.New(slog.DiscardHandler),
		After:  time.After,
	})
	return m
}

// Work implements Server.
func (m *machine) Work(context.Context, wire.RunnerWorkOf, time.Duration) (wire.RunnerWork, error) {
	return wire.RunnerWork{}, errors.New("not asked here")
}

// Do implements Server.
func (m *machine) Do(_ context.Context, _ string, body any, o client.Options) (client.Answer, error) {
	answer := client.Answer{}
	answer.Retried = m.repeated
	answer.Event = json.RawMessage(`{}`)
	if _, claims := body.(*commands.ClaimSession); m.away && !claims {
		return client.Answer{}, &client.Error{Status: http.StatusServiceUnavailable}
	}
	switch x := body.(type) {
	case *commands.ClaimSession:
		if slices.Contains(m.taken, x.SessionID) {
			return client.Answer{}, &client.Error{Status: http.StatusConflict, Problem: wire.Problem{Message: "taken"}}
		}
		m.did = append(m.did, "claim "+o.Key)
		m.claims = append(m.claims, x)
	case *commands.BlockCommand:
		m.did = append(m.did, "blocked "+o.Key)
	case *commands.ExitSession:
		m.did = append(m.did, "exited "+o.Key+": "+x.Reason)
	}
	return answer, nil
}

// Credential implements Server.
func (m *machine) Credential(_ context.Context, session string) (wire.Credential, error) {
	return wire.Credential{Token: "secret-of-" + session}, nil
}

// RunnerCredential implements Server.
func (m *machine) RunnerCredential(_ context.Context, session string) (wire.RunnerCredential, error) {
	return wire.RunnerCredential{Token: "speaks-for-" + session}, nil
}

// SessionManifest implements Server.
func (m *machine) SessionManifest(context.Context, string) (json.RawMessage, error) {
	return m.manifest, nil
}

// Base implements Server.
func (m *machine) Base() string { return "http://127.0.0.1:1" }

// sees compares the machine with what the server says, and expects what the runner does.
func (m *machine) sees(sessions []wire.RunnerSession, want ...string) {
	m.t.Helper()
	m.did = nil
	m.runner.compare(m.t.Context(), wire.RunnerWork{Sessions: sessions})
	if !slices.Equal(m.did, want) {
		m.t.Errorf("it did %q, want %q", m.did, want)
	}
}

// supervised makes the supervisor of a session save something, and leave.
func (m *machine) supervised(session string, saved supervisor.Saved) {
	m.t.Helper()
	files, err := m.home.TakeRun(session)
	if err != nil {
		m.t.Fatal(err)
	}
	content, err := json.Marshal(saved)
	if err == nil {
		err = files.Save(content)
	}
	if err := errors.Join(err, files.Close()); err != nil {
		m.t.Fatal(err)
	}
}

func session(id string, state wire.RunnerState, run int) wire.RunnerSession {
	return wire.RunnerSession{
		ID:        id,
		ProjectID: "p",
		State:     state,
		Run:       run,
	}
}

// Sessions are begun in their order, up to the limit; the others wait in line until an agent ends.
func TestWaitingLine(t *testing.T) {
	m := newMachine(t, 2)
	claim := []wire.RunnerSession{
		session("a", wire.WorkClaim, 1), session("b", wire.WorkClaim, 1), session("c", wire.WorkClaim, 1),
	}
	m.sees(claim, "claim a/1/claim", "start a run 1 secret-of-a speaks-for-a",
		"claim b/1/claim", "start b run 1 secret-of-b speaks-for-b")
	line := []wire.RunnerSession{
		session("a", wire.WorkRunning, 1), session("b", wire.WorkRunning, 1), session("c", wire.WorkClaim, 1),
	}
	m.sees(line)
	m.ends["a"](nil)
	m.supervised("a", supervisor.Saved{Run: 1, Reported: true})
	m.sees(line, "claim c/1/claim", "start c run 1 secret-of-c speaks-for-c")
}

// When an agent ends at once, the runner compares with the answer that it has already acted on. The sessions that it
// launched keep their places.
func TestSameAnswerAgain(t *testing.T) {
	m := newMachine(t, 2)
	var line []wire.RunnerSession
	for _, id := range []string{"a", "b", "c", "d"} {
		x := session(id, wire.WorkClaim, 1)
		x.Role = events.RoleWorker
		line = append(line, x)
	}
	m.sees(line, "claim a/1/claim", "start a run 1 secret-of-a speaks-for-a",
		"claim b/1/claim", "start b run 1 secret-of-b speaks-for-b")
	m.sees(line)
	m.ends["a"](nil)
	m.supervised("a", supervisor.Saved{Run: 1, Reported: true})
	m.repeated = true               // the server has begun the run of a
	m.sees(line, "claim a/1/claim") // so nobody else gets the place before the next answer
	if said := m.runner.said(); said.Running != "2" {
		t.Errorf("it says that %s run", said.Running)
	}
}

// An orchestrator waits for the workers that it spawns, so it does not take their places.
func TestOrchestratorsTakeNoPlaceOfWorkers(t *testing.T) {
	m := newMachine(t, 1)
	lead := session("lead", wire.WorkClaim, 1)
	lead.Role = events.RoleOrchestrator
	m.sees([]wire.RunnerSession{lead, session("a", wire.WorkClaim, 1), session("b", wire.WorkClaim, 1)},
		"claim lead/1/claim", "start lead run 1 secret-of-lead speaks-for-lead",
		"claim a/1/claim", "start a run 1 secret-of-a speaks-for-a")
}

// A session that another runner was faster to claim is left to it, and takes no place.
func TestTakenSession(t *testing.T) {
	m := newMachine(t, 1)
	m.taken = []string{"a"}
	m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 1), session("b", wire.WorkClaim, 1)},
		"claim b/1/claim", "start b run 1 secret-of-b speaks-for-b")
}

// After a restart, the runner starts what was claimed and never began, and records the exit of what died.
func TestRestart(t *testing.T) {
	m := newMachine(t, 4)
	m.supervised("died", supervisor.Saved{Run: 1})
	m.supervised("exited", supervisor.Saved{Run: 2, Exit: &supervisor.Exit{Reason: "it crashed"}})
	m.supervised("told", supervisor.Saved{Run: 1, Exit: &supervisor.Exit{}, Reported: true})
	m.supervised("earlier", supervisor.Saved{Run: 1, Reported: true})
	killed := "its supervisor ended without a record: it was killed, or the machine was restarted"
	m.sees([]wire.RunnerSession{
		session("never", wire.WorkRunning, 1), session("died", wire.WorkRunning, 1),
		session("exited", wire.WorkRunning, 2), session("told", wire.WorkRunning, 1),
		session("earlier", wire.WorkRunning, 2), session("ended", wire.WorkEnded, 1),
	},
		"start never run 1 secret-of-never speaks-for-never",
		"exited died/1/exited: "+killed,
		"exited exited/2/exited: it crashed",
		"start earlier run 2 secret-of-earlier speaks-for-earlier",
		"exited ended/1/exited: "+killed,
	)
}

// A supervisor that runs already is attached: nothing is started.
func TestAttached(t *testing.T) {
	m := newMachine(t, 1)
	files, err := m.home.TakeRun("a")
	if err != nil {
		t.Fatal(err)
	}
	both := []wire.RunnerSession{session("a", wire.WorkRunning, 1), session("b", wire.WorkClaim, 1)}
	m.sees(both)
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	m.supervised("a", supervisor.Saved{Run: 1, Exit: &supervisor.Exit{Reason: "done"}})
	m.sees(both, "exited a/1/exited: done", "claim b/1/claim", "start b run 1 secret-of-b speaks-for-b")
}

// A supervisor that cannot be started is an exit that says so.
func TestSupervisorThatCannotBeStarted(t *testing.T) {
	m := newMachine(t, 1)
	m.fail = errors.New("no such program")
	m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 1)},
		"claim a/1/claim", "exited a/1/exited: its supervisor could not be started: no such program")
}

// A claim names the agent that auto means, and the layers that the session gets: those for its network, too.
func TestClaimSaysWhatRuns(t *testing.T) {
	m := newMachine(t, 3)
	m.runner.Layers = []confine.Layer{confine.Namespaces, confine.NetworkPorts, confine.NetworkNone}
	m.manifest = json.RawMessage(`{"manifestVersion":"1.0","role":"worker","tasks":[{"id":"t","title":"T",` +
		`"description":"d","parentId":null,"acceptanceCriteria":["c"],"projectId":"p",` +
		`"createdAt":"2026-02-02T10:00:00Z","metadata":{"kind":"review"}}],` +
		`"session":{"model":"sonnet","permissionMode":"acceptEdits","agent":"auto"}}`)
	open := session("a", wire.WorkClaim, 1)
	ports, none := session("b", wire.WorkClaim, 1), session("c", wire.WorkClaim, 1)
	open.Agent, ports.Network, none.Network = supervisor.AutoAgent, "443", "none"
	m.runner.compare(t.Context(), wire.RunnerWork{Sessions: []wire.RunnerSession{open, ports, none}})
	var got []string
	for _, claim := range m.claims {
		got = append(got, claim.Agent+" "+strings.Join(claim.Layers, ","))
	}
	want := []string{
		agent.Auto("review") + " namespaces", "claude namespaces,network-ports", "claude namespaces,network-none",
	}
	if !slices.Equal(got, want) || agent.Auto("review") == agent.Claude {
		t.Errorf("it claimed %q, want %q", got, want)
	}
}

// A supervisor that ends before it has begun is started a few times, and no more: then the run has failed.
func TestSupervisorNeverBegins(t *testing.T) {
	m := newMachine(t, 3)
	x := []wire.RunnerSession{session("a", wire.WorkRunning, 1)}
	for range mostStarts {
		m.sees(x, "start a run 1 secret-of-a speaks-for-a")
		m.ends["a"](errors.New("the disk is full"))
	}
	m.sees(x, "exited a/1/exited: its supervisor ended 3 times before it began: "+
		"see `maestro session logs a --of supervisor`")
	m.sees([]wire.RunnerSession{session("a", wire.WorkRunning, 2)}, "start a run 2 secret-of-a speaks-for-a")
}

// A claim whose answer is the stored one began the run earlier: it is not launched by that.
func TestRepeatedClaimLaunchesNothing(t *testing.T) {
	m := newMachine(t, 3)
	m.repeated = true
	m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 1)}, "claim a/1/claim")
}

// A run that waits for the answer to a failed check leaves its place, and gets one again before a session that has not
// begun. As many runs may wait as there are places; the others keep theirs.
func TestAskingTakesNoPlace(t *testing.T) {
	m := newMachine(t, 1)
	var held []*home.RunFiles
	says := func(session string, place supervisor.Place) {
		t.Helper()
		m.supervised(session, supervisor.Saved{Run: 1, Place: place})
		files, err := m.home.TakeRun(session)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, files)
	}
	leaves := func() {
		t.Helper()
		for _, files := range held {
			if err := files.Close(); err != nil {
				t.Fatal(err)
			}
		}
		held = nil
	}
	defer leaves()
	line := func(running ...string) (list []wire.RunnerSession) {
		for _, id := range []string{"a", "b", "c"} {
			state := wire.WorkClaim
			if slices.Contains(running, id) {
				state = wire.WorkRunning
			}
			x := session(id, state, 1)
			x.Role = events.RoleWorker
			list = append(list, x)
		}
		return list
	}
	asks := func(want, running string) {
		t.Helper()
		if said := m.runner.said(); said.Asking != want || said.Running != running {
			t.Errorf("it says that %s ask and %s run, want %s and %s", said.Asking, said.Running, want, running)
		}
	}
	says("a", supervisor.PlaceAsks)
	m.sees(line("a"), "claim b/1/claim", "start b run 1 secret-of-b speaks-for-b")
	asks("1", "1")
	says("b", supervisor.PlaceAsks)
	m.sees(line("a", "b")) // the place of those that ask is taken, too
	asks("2", "1")
	leaves()
	says("a", supervisor.PlaceLine)
	says("b", supervisor.PlaceTaken)
	m.sees(line("a", "b"))
	if m.home.HasPlace("a") {
		t.Error("a run got a place that another one has")
	}
	asks("0", "1")
	leaves()
	says("a", supervisor.PlaceLine)
	m.ends["b"](nil)
	m.supervised("b", supervisor.Saved{Run: 1, Reported: true})
	m.sees(line("a", "b")) // c has to wait
	if !m.home.HasPlace("a") {
		t.Error("a run that has its answer got no place")
	}
	m.sees(line("a", "b"))
	asks("0", "1")
}

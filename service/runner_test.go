package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/service/wire"
)

// fleet is a session for the runner local, and another one for nobody.
type fleet struct {
	*world
	project        string
	lead           *Caller
	session, other string
	// secret is that of the session.
	secret string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t)}
	project := f.make(f.admin(), "project:create", `{"name":"P"}`)
	f.project = project
	task := f.make(f.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	spawn := func(by *Caller, more string) (token, id string) {
		done := f.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]`+more+`}`)
		_, id = done.Data.Aggregate()
		return done.Token, id
	}
	token, _ := spawn(f.admin(), `,"role":"orchestrator"`)
	f.lead = f.caller(token)
	if f.secret, f.session = spawn(f.lead, `,"runner":"local"`); f.secret != "" {
		t.Error("a session gets the secret of another one that a runner launches")
	}
	f.secret = SessionToken(f.Keys.ServerKey, f.session, FirstGeneration)
	_, f.other = spawn(f.admin(), "")
	return f
}

// runnerToken returns the credential of a runner for all its sessions.
func (f *fleet) runnerToken(runner string) string {
	return RunnerToken(f.Keys.ServerKey, runner, "", FirstGeneration)
}

// supervisor returns the credential of a session's supervisor, for a caller that names a runner.
func (f *fleet) supervisor(by *Caller, session, runner string) (given wire.RunnerCredential, err error) {
	err = f.Look(f.Context(), by, func(v View) error {
		given, err = v.GetRunnerCredential(&wire.RunnerCredentialOf{ID: session, Runner: runner})
		return err
	})
	return given, err
}

func (f *fleet) claim(by *Caller, session string) {
	f.Helper()
	f.do(by, "session:claim", `{"sessionId":"`+session+`","host":"box"}`)
}

// A runner's credential is for the sessions that are assigned to it, that of a supervisor for one of them until it is
// resumed.
func TestRunnerCredentials(t *testing.T) {
	f := newFleet(t)
	local := f.caller(f.runnerToken("local"))
	f.claim(local, f.session)
	given, err := f.supervisor(local, f.session, "")
	if err != nil || given.Runner != "local" || given.SessionID != f.session {
		t.Fatalf("%+v %v", given, err)
	}
	supervisor := f.caller(given.Token)
	if by := supervisor.By; by.Kind != commands.ActorRunner || by.Name != "local" || by.Speaks != f.session {
		t.Errorf("it identifies %+v", by)
	}
	f.do(supervisor, "session:usage", `{"sessionId":"`+f.session+`","run":1,"turns":1}`)
	var refusal *commands.Refusal
	if _, err := f.try(supervisor, "session:claim", `{"sessionId":"`+f.other+`"}`, "k"); !errors.As(err, &refusal) ||
		!strings.Contains(refusal.Message, "speaks for session") {
		t.Errorf("it claims another session: %v", err)
	}
	if again, err := f.supervisor(supervisor, f.session, "local"); err != nil || again != given {
		t.Errorf("of itself: %+v %v", again, err)
	}
	for _, token := range []string{
		given.Token + "x",
		strings.Replace(given.Token, "local", "terminal", 1),
		strings.Replace(given.Token, f.session, f.other, 1),
		strings.Replace(f.runnerToken("local"), "local", "local~"+f.session, 1),
		strings.Replace(given.Token, wire.RunnerTokenPrefix, wire.UserTokenPrefix, 1),
	} {
		if c, err := f.Authenticate(token); err == nil {
			t.Errorf("a forged token is good for %+v", c.By)
		}
	}
	f.do(f.admin(), "session:kill", `{"sessionId":"`+f.session+`"}`)
	f.do(supervisor, "session:exited", `{"sessionId":"`+f.session+`","run":1,"signal":"killed"}`)
	if again, err := f.supervisor(local, f.session, ""); err != nil || again != given {
		t.Errorf("after the end: %+v %v", again, err)
	}
	f.do(f.lead, "session:resume", `{"sessionId":"`+f.session+`"}`)
	if _, err := f.Authenticate(given.Token); err == nil {
		t.Error("the credential of the former supervisor is still good")
	}
	if supervisor.over(f.view(supervisor).State, f.Now()) == nil {
		t.Error("calls of the former supervisor go on")
	}
	if local.over(f.view(local).State, f.Now()) != nil {
		t.Error("calls of the runner end")
	}
	if proof := f.Prove(wire.PublicPart(given.Token), "challenge of some length"); proof !=
		wire.Prove(given.Token, "challenge of some length") {
		t.Error("the server does not prove that it knows the credential of a runner")
	}
}

// A runner is told of a session once, also after a resume, and no more once it has ended.
func TestWorkListsSessionOnce(t *testing.T) {
	f := newFleet(t)
	local := f.caller(f.runnerToken("local"))
	lists := func(want ...string) {
		t.Helper()
		got := []string{}
		for x := range f.view(local).Employed() {
			got = append(got, x.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("runners are told of %q, want %q", got, want)
		}
		if got := len(workOf(f.view(local).State, "local").Sessions); got != len(want) {
			t.Errorf("the runner is told of %d sessions, want %d", got, len(want))
		}
	}
	for run := range 3 {
		lists(f.session)
		f.claim(local, f.session)
		lists(f.session)
		f.do(f.admin(), "session:kill", `{"sessionId":"`+f.session+`"}`)
		f.do(local, "session:exited", fmt.Sprintf(`{"sessionId":%q,"run":%d,"signal":"killed"}`, f.session, run+1))
		lists()
		f.do(f.lead, "session:resume", `{"sessionId":"`+f.session+`"}`)
	}
}

// Whoever may have the secret of a session gets the credential of the runner terminal; the session itself not from its
// own runner.
func TestWhoSpeaksForASession(t *testing.T) {
	f := newFleet(t)
	itself, other := f.caller(f.secret), f.caller(f.runnerToken("other"))
	for _, c := range []struct {
		name, runner string
		by           *Caller
		may          bool
	}{
		{"the user", "", f.admin(), true},
		{"the user, for a terminal", "terminal", f.admin(), true},
		{"the user, for another runner", "local", f.admin(), false},
		{"the orchestrator", "", f.lead, true},
		{"the session itself", "", itself, true},
		{"its runner", "local", f.caller(f.runnerToken("local")), true},
		{"its runner, for a terminal", "terminal", f.caller(f.runnerToken("local")), false},
		{"another runner", "", other, false},
		{"an auditor", "", f.token(`{"name":"eye","kind":"auditor"}`), false},
	} {
		given, err := f.supervisor(c.by, f.session, c.runner)
		var refusal *commands.Refusal
		if c.may != (err == nil) || err != nil && !errors.As(err, &refusal) {
			t.Errorf("%s: %+v %v", c.name, given, err)
		}
	}
	given, _ := f.supervisor(itself, f.session, "")
	f.claim(f.caller(given.Token), f.session)
	if given, err := f.supervisor(itself, f.session, ""); err == nil {
		t.Errorf("an agent speaks for its runner: %+v", given)
	}
}

// A runner reads the sessions that are assigned to it: the session, its mail and its secret; and nothing else.
func TestWhatRunnersRead(t *testing.T) {
	f := newFleet(t)
	local := f.caller(f.runnerToken("local"))
	given, err := f.supervisor(local, f.session, "")
	if err != nil {
		t.Fatal(err)
	}
	f.do(f.lead, "session:message", `{"sessionId":"`+f.session+`","text":"Go on"}`)
	reads := map[string]func(v View, session string) error{
		"the session": func(v View, session string) error {
			_, err := v.GetSession(&wire.SessionID{ID: session})
			return err
		},
		"its mail": func(v View, session string) error {
			box, err := v.GetMail(&wire.MailOf{ID: session})
			if err == nil && (len(box.Mail) != 1 || box.Mail[0].Text != "Go on") {
				t.Errorf("the mail is %+v", box)
			}
			return err
		},
		"its secret": func(v View, session string) error {
			secret, err := v.GetCredential(&wire.SessionID{ID: session})
			if err == nil && secret.Token != f.secret {
				t.Errorf("the secret is %q", secret.Token)
			}
			return err
		},
	}
	for name, by := range map[string]*Caller{"the runner": local, "the supervisor": f.caller(given.Token)} {
		for what, read := range reads {
			for session, may := range map[string]bool{f.session: true, f.other: false, "none": false} {
				err := f.Look(f.Context(), by, func(v View) error { return read(v, session) })
				if may != (err == nil) {
					t.Errorf("%s reads %s of %s: %v", name, what, session, err)
				}
			}
		}
		err := f.Look(f.Context(), by, func(v View) error {
			_, err := v.ListSessions(&wire.SessionFilter{})
			return err
		})
		if err == nil {
			t.Errorf("%s lists all sessions", name)
		}
	}
}

// A spawn for a runner that nobody knows succeeds, and says that nobody launches its agent.
func TestSpawnForUnknownRunnerWarns(t *testing.T) {
	f := newFleet(t)
	f.LocalRunner = "own"
	task := f.make(f.admin(), "task:create", `{"project":"`+f.project+`","title":"T"}`)
	warned := func(by *Caller, runner string) string {
		t.Helper()
		done := f.do(by, "session:spawn",
			`{"project":"`+f.project+`","taskIds":["`+task+`"],"runner":"`+runner+`"}`)
		for _, warning := range done.Warnings {
			if strings.HasPrefix(warning, wire.RunnerAway(runner)) {
				return warning
			}
		}
		return ""
	}
	for _, runner := range []string{"own", "none", "terminal"} {
		if got := warned(f.admin(), runner); got != "" {
			t.Errorf("runner %s: %s", runner, got)
		}
	}
	if got := warned(f.admin(), "far"); !strings.HasSuffix(got, ": see `maestro runner list` for those that did") {
		t.Errorf("the user is told %q", got)
	}
	if got := warned(f.lead, "far"); got == "" || strings.Contains(got, "runner list") {
		t.Errorf("a session, which may not list runners, is told %q", got)
	}
	f.Service.seen(&wire.RunnerWorkOf{Name: "far"})
	if got := warned(f.admin(), "far"); got != "" {
		t.Errorf("once it has asked: %s", got)
	}
}

// An agent without a hook cannot be spawned to ask before it acts: its run could only ask what nobody can mend.
func TestSpawnOfUnguardedAgentThatShallAsk(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	w.Agents = func() ConfiguredAgents {
		return ConfiguredAgents{Names: []string{"claude", "notes"}, Unguarded: []string{"notes"}}
	}
	task, _ := w.team()
	for agent, modes := range map[string][]string{"notes": {"acceptEdits", "readOnly"}, "claude": {"interactive"}} {
		for _, mode := range append(modes, "interactive") {
			_, err := w.try(w.admin(), "session:spawn", `{"project":"`+w.projectOf(task)+`","taskIds":["`+task+
				`"],"agent":"`+agent+`","permissionMode":"`+mode+`"}`, agent+mode)
			var refused *commands.Refusal
			is := errors.As(err, &refused) && refused.Pointer == "/permissionMode" &&
				strings.Contains(refused.Next, "acceptEdits or readOnly")
			if want := !slices.Contains(modes, mode); is != want || err != nil && !want {
				t.Errorf("agent %s, mode %s: %v", agent, mode, err)
			}
		}
	}
}

// A spawn for an agent that the home does not configure names those that there are, in the words of a spawn.
func TestSpawnForUnknownAgent(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	configured := ConfiguredAgents{Names: []string{"claude", "notes"}}
	w.Agents = func() ConfiguredAgents { return configured }
	task, _ := w.team()
	spawn := func(agent string) error {
		_, err := w.try(w.admin(), "session:spawn",
			`{"project":"`+w.projectOf(task)+`","taskIds":["`+task+`"],"agent":"`+agent+`"}`, "spawn "+agent)
		return err
	}
	var refused *commands.Refusal
	if err := spawn("nots"); !errors.As(err, &refused) || refused.Pointer != "/agent" ||
		!strings.HasPrefix(refused.Message, "There is no agent 'nots'") ||
		refused.Why != "there are auto, claude, notes" || !strings.Contains(refused.Next, "agents.json") {
		t.Errorf("got %+v, %v", refused, err)
	}
	for _, agent := range []string{"", "auto", "notes"} {
		if err := spawn(agent); err != nil {
			t.Errorf("agent %q: %v", agent, err)
		}
	}
	configured = ConfiguredAgents{Names: []string{"claude"}, Fault: "agents.json is empty", Fix: "remove it"}
	if err := spawn("jots"); !errors.As(err, &refused) || refused.Pointer != "/agent" ||
		refused.Why != configured.Fault || refused.Next != configured.Fix {
		t.Errorf("without a configuration: %+v, %v", refused, err)
	}
	if err := spawn("claude"); err != nil {
		t.Errorf("an agent that needs no configuration: %v", err)
	}
}

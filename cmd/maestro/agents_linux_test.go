package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/internal/testing/standin"
	"maestro/service/wire"
	"maestro/workers/processes"
)

var agentSessions = flag.Int("agent-sessions", 50, "how many scripted agents run while the server is killed")

// scripted is an agent that reports, waits until a file is there, and reports again. What it starts has a session of
// its own, as the tools of real agents have.
const scripted = `#!/bin/bash
cat >/dev/null
setsid sleep 600 &
for i in 1 2 3; do maestro report progress "step $i" || exit 9; done
until [ -e go ]; do read -t 0.05 <> <(:); done
for i in 4 5 6; do maestro report progress "step $i" || exit 9; done
maestro report complete "all six steps"
`

// agentsHome is a server that launches scripted agents.
type agentsHome struct {
	*killed

	target, workspaces string
	project            string
}

// newAgents starts a server with an agent called scripted.
func newAgents(t *testing.T, script string, options ...string) *agentsHome {
	t.Helper()
	dir := t.TempDir()
	h := &agentsHome{
		killed: &killed{
			t:     t,
			home:  filepath.Join(dir, "home"),
			acked: map[string]client.Answer{},
		},
		target:     filepath.Join(dir, "target"),
		workspaces: filepath.Join(dir, "workspaces"),
	}
	h.options = append([]string{"--runner", "local", "--workspaces", h.workspaces, "--backup-every", "off"}, options...)
	agent := filepath.Join(dir, "agent.sh")
	config, err := json.Marshal(map[string]any{"agents": map[string]any{
		"scripted": map[string]any{"command": []string{agent}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{h.home, h.target} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{agent: script, filepath.Join(h.home, "agents.json"): string(config)} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(h.home, "agents.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start()
	t.Cleanup(func() {
		_ = h.process.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = h.process.Wait()
		processes.Kill(processes.With(wire.EnvWorkspace + "=" + h.workspaces))
	})
	project, _ := h.made(h.admin(), "project:create", map[string]any{"name": "P", "workingDir": h.target})
	h.project = project["projectId"].(string)
	return h
}

// spawn spawns a session for a new task, which the runner launches.
func (h *agentsHome) spawn(more map[string]any) (session string) {
	h.t.Helper()
	admin := h.admin()
	task, _ := h.made(admin, "task:create", map[string]any{"project": h.project, "title": "T"})
	body := map[string]any{"project": h.project, "taskIds": []any{task["taskId"]}, "agent": "scripted"}
	for name, value := range more {
		body[name] = value
	}
	spawned, _ := h.made(admin, "session:spawn", body)
	return spawned["sessionId"].(string)
}

// until waits until a condition holds.
func (h *agentsHome) until(what string, holds func() bool) {
	h.t.Helper()
	if comes(holds) {
		return
	}
	var logs strings.Builder
	names, _ := filepath.Glob(filepath.Join(h.home, "sessions", "*", "supervisor.log"))
	for _, name := range names {
		log, err := os.ReadFile(name)
		fmt.Fprintf(&logs, "%s: %v\n%s\n", name, err, log)
	}
	h.t.Fatalf("never: %s\n%s\n%s", what, h.stderr.String(), logs.String())
}

// sessions returns the sessions with their timelines.
func (h *agentsHome) list() []wire.Session {
	h.t.Helper()
	list, err := h.admin().Sessions(h.t.Context(), wire.SessionFilter{ProjectID: h.project})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// steps counts how often a session reported each step.
func (h *agentsHome) steps(session string) map[string]int {
	h.t.Helper()
	entries, err := h.admin().SessionTimeline(h.t.Context(), session)
	if err != nil {
		h.t.Fatal(err)
	}
	steps := map[string]int{}
	for _, e := range entries {
		if strings.HasPrefix(e.Message, "step ") {
			steps[e.Message]++
		}
	}
	return steps
}

// TestScriptedAgentsSurviveRestarts kills the server, with its runner, three times while many agents work, and the
// supervisors of some. Every session must end in a known state, no report may be lost or doubled, and nothing may be
// left: no process, no socket.
func TestScriptedAgentsSurviveRestarts(t *testing.T) {
	t.Parallel()
	h := newAgents(t, scripted, "--agents", strconv.Itoa(*agentSessions*4/5))
	var sessions []string
	for range *agentSessions {
		sessions = append(sessions, h.spawn(nil))
	}
	var victims []string
	for round := range 3 {
		h.until("agents of round "+strconv.Itoa(round)+" report", func() bool {
			at := 0
			for _, x := range h.list() {
				if x.Run != nil && h.steps(x.ID)["step 3"] > 0 {
					at++
				}
			}
			return at >= (round+1)**agentSessions/6
		})
		h.restart(func() {
			victim := sessions[round]
			victims = append(victims, victim)
			if err := syscall.Kill(h.supervisor(victim), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(h.target, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.until("all sessions have ended", func() bool {
		for _, x := range h.list() {
			if x.EndedAt == nil || x.Run == nil || x.Run.ExitedAt == nil {
				return false
			}
		}
		return true
	})
	for _, x := range h.list() {
		if slices.Contains(victims, x.ID) {
			if x.Status != "failed" || !strings.Contains(x.EndReason, "supervisor") {
				t.Errorf("the session without supervisor is %s: %s", x.Status, x.EndReason)
			}
			continue
		}
		if x.Status != "completed" || x.Run.Number != 1 {
			t.Errorf("session %s is %s after run %d: %s", x.ID, x.Status, x.Run.Number, x.EndReason)
		}
		steps := h.steps(x.ID)
		for i := range 6 {
			if n := steps[fmt.Sprintf("step %d", i+1)]; n != 1 {
				t.Errorf("session %s reported step %d %d times", x.ID, i+1, n)
			}
		}
	}
	h.nothingLeft()
}

// TestAnotherServerTakesTheAddress: while a home's server is down, that of another home listens at its address. It is
// told nothing, and what it says ends no agent and loses no report.
func TestAnotherServerTakesTheAddress(t *testing.T) {
	t.Parallel()
	h := newAgents(t, scripted+"touch done\n", "--lease", "6s") // a heartbeat every 2 s
	session := h.spawn(nil)
	h.until("the agent reports", func() bool { return h.steps(session)["step 3"] > 0 })
	h.restart(func() {
		var asked atomic.Int64
		other := standin.Identified(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("the other server was told %s %s", r.Method, r.URL.Path)
		})
		listener, err := net.Listen("tcp", strings.TrimPrefix(h.address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				other.ServeHTTP(w, r)
			}),
			ReadHeaderTimeout: time.Minute,
		}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) }) // it is closed below
		defer serving.Wait()
		defer func() { _ = server.Close() }()
		// The supervisor asks for mail and sends heartbeats: by then it has done both, since it asks ever more slowly.
		h.until("the supervisor has asked who that is", func() bool { return asked.Load() >= 7 })
		if err := os.WriteFile(filepath.Join(h.target, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h.until("the agent has done its work", func() bool {
			_, err := os.Stat(filepath.Join(h.target, "done"))
			return err == nil
		})
	})
	h.until("the session has ended", func() bool { x := h.list()[0]; return x.EndedAt != nil && x.Run.ExitedAt != nil })
	if x := h.list()[0]; x.Status != "completed" || x.Run.Number != 1 {
		t.Errorf("the session is %s after run %d: %s", x.Status, x.Run.Number, x.EndReason)
	}
	steps := h.steps(session)
	for i := range 6 {
		if n := steps[fmt.Sprintf("step %d", i+1)]; n != 1 {
			t.Errorf("step %d was reported %d times", i+1, n)
		}
	}
	h.nothingLeft()
}

// TestSuccessorSeesWhatWasDone: the agent that takes a task over is told what the one before it reported, which files
// it named, and what its working directory holds. Git runs behind the boundary, whatever the repository configures.
func TestSuccessorSeesWhatWasDone(t *testing.T) {
	t.Parallel()
	const worker = `#!/bin/bash
prompt=$(cat)
if [[ $prompt != *found_before* ]]; then
	echo "half a fix" >>fix.txt
	echo new >added.txt
	git config core.fsmonitor "touch $PWD/fsmonitor"
	git config diff.external "touch $PWD/external"
	git config core.pager "touch $PWD/pager"
	maestro track-file fix.txt && maestro report progress "the parser is half done"
	exit 7
fi
echo "$prompt" >prompt.txt
maestro report complete "taken over"
`
	h := newAgents(t, worker, "--allow-git-config")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{
			"-C", h.target, "-c", "user.name=a", "-c",
			"user.email=a@example.com", "-c", "commit.gpgsign=false",
		}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(h.target, "fix.txt"), []byte("the fault\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "fix.txt")
	git("commit", "-qm", "Show the fault")
	first := h.spawn(nil)
	h.until("the first agent has ended", func() bool { return h.list()[0].EndedAt != nil })
	var task string
	for _, x := range h.list() {
		if x.ID == first {
			task = x.TaskIDs[0]
		}
	}
	h.spawn(map[string]any{"taskIds": []any{task}})
	h.until("the second agent has ended", func() bool {
		return !slices.ContainsFunc(h.list(), func(x wire.Session) bool { return x.EndedAt == nil })
	})
	content, err := os.ReadFile(filepath.Join(h.target, "prompt.txt"))
	if err != nil {
		t.Fatal(err)
	}
	prompt := string(content)
	for _, want := range []string{
		"the parser is half done", // what it reported
		`<entry name="files">fix.txt</entry>`,
		`<git shows="commits">`, "Show the fault", `<git shows="status">`, " M fix.txt", "?? added.txt",
		`<git shows="diff">`, "+half a fix",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt of the second agent lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(prompt)
	}
	for _, name := range []string{"fsmonitor", "external", "pager"} {
		if _, err := os.Stat(filepath.Join(h.target, name)); err == nil {
			t.Errorf("git ran the program that the first agent had configured as %s", name)
		}
	}
	h.nothingLeft()
}

// TestAgentSpoilsItsWorkspace: what an agent leaves in its workspace keeps its next run from nothing, and leads the
// supervisor, which is not confined, nowhere.
func TestAgentSpoilsItsWorkspace(t *testing.T) {
	t.Parallel()
	const spoiler = `#!/bin/bash
cat >/dev/null
if [ -e spoiled ]; then
	echo "the password is $DEPLOY_PASSWORD"
	maestro report complete "in spite of that: $DEPLOY_PASSWORD" && exit
	exit 9
fi
touch spoiled
cd "$MAESTRO_WORKSPACE/$MAESTRO_SESSION_ID" || exit 8
for name in .state .tmp .cache .orchestrator manifest.json; do
	mv $name $name.away 2>/dev/null; rm -rf $name 2>/dev/null; ln -s "VICTIM" $name 2>/dev/null
done
rm -f scripted.* && mkfifo scripted.jsonl && mkdir -p scripted.stderr.log/full
exit 7
`
	victim := t.TempDir()
	h := newAgents(t, strings.ReplaceAll(spoiler, "VICTIM", victim))
	session := h.spawn(map[string]any{"permissionMode": "acceptEdits"})
	h.until("the first run has ended", func() bool { return h.list()[0].EndedAt != nil })
	workspace := filepath.Join(h.workspaces, session)
	// Where namespaces do not keep a name, and below `session exec --unconfined`, an agent could have replaced these.
	for _, name := range []string{".state", ".tmp", ".cache", ".orchestrator"} {
		path := filepath.Join(workspace, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(workspace, "scripted.jsonl")
	if err := errors.Join(os.Remove(output), syscall.Mkfifo(output, 0o600)); err != nil {
		t.Fatal(err)
	}
	h.made(h.admin(), "session:update", map[string]any{
		"sessionId": session, "env": map[string]string{"DEPLOY_PASSWORD": "correct horse"},
	})
	h.made(h.admin(), "session:resume", map[string]any{"sessionId": session})
	h.until("the second run has ended", func() bool { x := h.list()[0]; return x.EndedAt != nil && x.Run.Number == 2 })
	if x := h.list()[0]; x.Status != "completed" {
		log, _ := os.ReadFile(filepath.Join(h.home, "sessions", session, "supervisor.log"))
		t.Errorf("the session is %s: %s\n%s", x.Status, x.EndReason, log)
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("the supervisor wrote to where a link led: %v, %v", left, err)
	}
	said, err := os.ReadFile(output)
	if err != nil || !strings.Contains(string(said), "the password is ") {
		t.Errorf("the output is %q, %v", said, err)
	}
	entries, err := h.admin().SessionTimeline(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		said = append(said, e.Message...)
	}
	if strings.Contains(string(said), "correct horse") {
		t.Errorf("a secret that a user gave the session is stored: %s", said)
	}
	h.nothingLeft()
}

// supervisor returns the process of a session's supervisor. It never returns 0, which would stand for every process of
// the test.
func (h *agentsHome) supervisor(session string) int {
	h.t.Helper()
	out, err := exec.Command("pgrep", "-f", "maestro "+wire.ProgramSupervisor+" "+session+"$").Output()
	if err != nil {
		h.t.Fatalf("no supervisor of session %s is found: %v", session, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 1 {
		h.t.Fatalf("the supervisor of session %s is process %q", session, first)
	}
	return pid
}

// nothingLeft checks that no process and no socket of an agent is left.
func (h *agentsHome) nothingLeft() {
	h.t.Helper()
	h.until("no process of an agent is left", func() bool {
		return len(processes.With(wire.EnvWorkspace+"="+h.workspaces)) == 0
	})
	h.until("no socket of an agent is left", func() bool {
		left, err := filepath.Glob(filepath.Join(h.workspaces, ".run", "*"))
		return err == nil && len(left) == 0
	})
}

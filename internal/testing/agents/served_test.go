//go:build agents

package agents_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/processes"
)

// patience bounds what takes a moment: an agent starts, calls its model, and ends.
const patience = 120 * time.Second

// served is a server whose runner launches an agent, against a scripted model.
type served struct {
	*testing.T
	*model
	name                     string // of the agent
	home, target, workspaces string
	program                  string // the maestro that serves, and that the agent runs
	// user is the home directory of the server's user.
	user    string
	address string
	process *exec.Cmd
	log     *logged
	admin   *client.Client
	project string
}

// logged is what a process writes, for whoever reads it meanwhile.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// everyServed runs a test with each CLI, launched by a server's runner.
func everyServed(t *testing.T, test func(s *served)) {
	everyCLI(t, func(t *testing.T, name string) {
		s := newServed(t, name)
		s.begin()
		test(s)
	})
}

// newServed prepares a server with a configured agent. The agent works in a git repository, as most do.
func newServed(t *testing.T, name string) *served {
	t.Helper()
	dir := t.TempDir()
	s := &served{
		T:          t,
		model:      newModel(t, name),
		name:       name,
		home:       filepath.Join(dir, "home"),
		target:     filepath.Join(dir, "target"),
		workspaces: filepath.Join(dir, "workspaces"),
		program:    *maestro,
		user:       os.Getenv("HOME"), // the CLIs may be below it, where a confined agent reads them
		log:        &logged{},
	}
	for _, made := range []string{s.home, s.target} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.configure(s.settings(name))
	return s
}

// configure writes how the agent is run.
func (s *served) configure(settings agent.Settings) {
	s.Helper()
	content, err := json.Marshal(agent.Config{Agents: map[string]agent.Settings{s.name: settings}})
	if err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, "agents.json"), content, 0o600); err != nil {
		s.Fatal(err)
	}
}

// begin starts the server, and makes a project that works in the target.
func (s *served) begin() {
	s.Helper()
	s.start()
	s.Cleanup(func() {
		_ = s.process.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = s.process.Wait()
		processes.Kill(processes.With(wire.EnvWorkspace + "=" + s.workspaces))
		if s.Failed() {
			s.Logf("the server:\n%s", s.log)
		}
	})
	token, err := os.ReadFile(filepath.Join(s.home, "admin.token"))
	if err != nil {
		s.Fatal(err)
	}
	s.admin = client.New(s.address, strings.TrimSpace(string(token)))
	s.project = s.made("project:create", map[string]any{"name": "Doors", "workingDir": s.target})["projectId"].(string)
}

// start starts the server, at its address if it had one.
func (s *served) start() {
	s.Helper()
	listen := "127.0.0.1:0"
	if s.address != "" {
		listen = strings.TrimPrefix(s.address, "http://")
	}
	s.process = s.command("serve", "--listen", listen, "--workspaces", s.workspaces, "--backup-every", "off")
	s.process.Stderr = s.log
	out, err := s.process.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "listening on") {
		s.Fatalf("the server says %q: %v\n%s", line, err, s.log)
	}
	_, rest, _ := strings.Cut(line, "listening on ")
	s.address, _, _ = strings.Cut(rest, " ")
}

// command is a maestro of the user.
func (s *served) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Env = []string{
		"MAESTRO_HOME=" + s.home, "HOME=" + s.user, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		wire.EnvWorkspace + "=" + s.workspaces,
	}
	return cmd
}

// run runs a command of the user, and returns what it prints.
func (s *served) run(args ...string) string {
	s.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("maestro %q: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

// made executes a command of the user, and returns the data of its event.
func (s *served) made(id string, body any) map[string]any {
	s.Helper()
	answer, err := s.admin.Do(s.Context(), id, body, client.Options{})
	if err != nil {
		s.Fatal(err)
	}
	var event struct {
		Data map[string]any `json:"data"`
	}
	if answer.Event != nil && json.Unmarshal(answer.Event, &event) != nil {
		s.Fatalf("an answer cannot be read: %s", answer.Event)
	}
	return event.Data
}

// spawn spawns a session for a new task, which the runner launches, and returns its id.
func (s *served) spawn(more map[string]any) string {
	s.Helper()
	task := s.made("task:create", map[string]any{"project": s.project, "title": "TASK-SEEN"})
	body := map[string]any{"project": s.project, "taskIds": []any{task["taskId"]}, "agent": s.name}
	for name, value := range more {
		body[name] = value
	}
	return s.made("session:spawn", body)["sessionId"].(string)
}

// errHolds ends the reading of the live views.
var errHolds = errors.New("it is as the test wants it")

// waits waits until a session is as the test wants it, and returns it. It looks at each event of the session.
func (s *served) waits(session, what string, holds func(x wire.Session) bool) (x wire.Session) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		err := s.admin.Live(ctx, wire.LiveFilter{Session: session}, func(client.LiveMessage) (err error) {
			if x, err = s.admin.Session(ctx, session); err == nil && holds(x) {
				return errHolds
			}
			return nil // a server that is killed says nothing
		})
		if errors.Is(err, errHolds) {
			return x
		}
		select { // the server may be away for a while
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	s.explain(session)
	s.Fatalf("never: %s; the session is %s", what, shown(x))
	return x
}

// until waits until something holds of which no event tells.
func (s *served) until(what string, holds func() bool) {
	s.Helper()
	for range patience / (20 * time.Millisecond) {
		if holds() {
			return
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // other processes have to get there
	}
	s.Fatalf("never: %s", what)
}

// ended waits until a session has ended and its run too.
func (s *served) ended(session string) wire.Session {
	s.Helper()
	return s.waits(session, "the session and its run end", func(x wire.Session) bool {
		return x.EndedAt != nil && x.Run != nil && x.Run.ExitedAt != nil
	})
}

// rests waits until a run of a session has ended and the session has not.
func (s *served) rests(session string, run int) wire.Session {
	s.Helper()
	return s.waits(session, "run "+strconv.Itoa(run)+" ends, and its session waits", func(x wire.Session) bool {
		return x.Run != nil && x.Run.Number == run && x.Run.ExitedAt != nil
	})
}

// question waits for an open question of a session, and returns it.
func (s *served) question(session string) (q wire.Input) {
	s.Helper()
	s.waits(session, "it asks", func(wire.Session) bool {
		open, err := s.admin.Inputs(s.Context(), wire.InputFilter{SessionID: session, Status: "open"})
		if err != nil || len(open) == 0 {
			return false
		}
		q = open[0]
		return true
	})
	return q
}

// shown is a session as `maestro session info --json` shows it.
func shown(x wire.Session) string {
	text, err := json.Marshal(x)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// explain logs what is known about a session.
func (s *served) explain(session string) {
	s.Helper()
	for _, of := range []string{"supervisor", "errors", "decisions", "output"} {
		out, err := s.command("session", "logs", session, "--of", of).CombinedOutput()
		s.Logf("the log %s (%v):\n%s", of, err, out)
	}
}

// supervisor returns the process of a session's supervisor.
func (s *served) supervisor(session string) int {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(s.home, "sessions", session, "run.json"))
	var saved struct {
		PID int `json:"pid"`
	}
	if err == nil {
		err = json.Unmarshal(content, &saved)
	}
	if err != nil || saved.PID == 0 {
		s.Fatalf("no supervisor of %s is known: %v", session, err)
	}
	return saved.PID
}

// alive are the processes of a session's agents.
func (s *served) alive(session string) []int {
	return processes.With(wire.EnvSocket + "=" + filepath.Join(s.workspaces, ".run", session, "agent.sock"))
}

// nothingLeft checks that no process and no socket of an agent is left.
func (s *served) nothingLeft() {
	s.Helper()
	s.until("no process of an agent is left", func() bool {
		return len(processes.With(wire.EnvWorkspace+"="+s.workspaces)) <= 1 // the server has it too
	})
	s.until("no socket of an agent is left", func() bool {
		left, err := filepath.Glob(filepath.Join(s.workspaces, ".run", "*"))
		return err == nil && len(left) == 0
	})
}

// events returns what the log says about a session, one event a line.
func (s *served) events(session string) string {
	s.Helper()
	return s.run("events", "--aggregate", "session/"+session, "--limit", "500", "-o", "jsonl")
}

// wrote returns a file that the agent wrote in its target, "" if there is none.
func (s *served) wrote(name string) string {
	content, err := os.ReadFile(filepath.Join(s.target, name))
	if err != nil {
		return ""
	}
	return string(content)
}

// has reports whether the target has a file.
func (s *served) has(name string) bool {
	_, err := os.Lstat(filepath.Join(s.target, name))
	return err == nil
}

// pipe makes a pipe in the target: a call that writes into it waits until the test reads it, and the other way round.
func (s *served) pipe(name string) string {
	s.Helper()
	path := filepath.Join(s.target, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// read waits until the agent writes into a pipe.
func (s *served) read(pipe string) {
	s.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that opening it does not wait, and its deadline works
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 1)); err != nil {
		s.Fatalf("the agent never wrote into %s: %v", filepath.Base(pipe), err)
	}
}

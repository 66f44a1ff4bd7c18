//go:build agents

package agents_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"maestro/api/client"
	"maestro/internal/testing/mockmodel"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/processes"
)

// works are the steps of an agent that is ended in the middle of its second call.
func (s *served) works() {
	s.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
		switch {
		case s.told("You continue where you stopped"):
			if !strings.Contains(results[len(results)-1].Text, "Reported complete") {
				return complete
			}
			return mockmodel.Step{Text: "Done."}
		case len(results) == 0:
			return mockmodel.Shell("touch before")
		}
		return mockmodel.Shell("touch during; echo > begun; sleep 600")
	})
}

// A session that is killed in the middle of a call ends within seconds, with everything that its agent started.
func TestKillLeavesNothing(t *testing.T) {
	everyServed(t, func(s *served) {
		begun := s.pipe("begun")
		s.works()
		session := s.spawn(nil)
		s.read(begun)
		s.until("its CLI, a shell and a program run", func() bool { return len(s.alive(session)) >= 3 })
		s.run("session", "kill", session, "--reason", "KILL-SEEN")
		x := s.ended(session)
		if x.Status != "stopped" || x.EndReason != "KILL-SEEN" || x.Run.Reason == "" {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		s.nothingLeft()
	})
}

// A session whose agent is killed has failed, and its next run continues the conversation, with another secret.
func TestKilledCLIIsResumed(t *testing.T) {
	everyServed(t, func(s *served) {
		s.isResumed(func(session string) { processes.Kill(s.cli(session)) }, "SIGKILL")
	})
}

// The same holds if its supervisor is killed: the kernel ends the agent with it.
func TestKilledSupervisorIsResumed(t *testing.T) {
	everyServed(t, func(s *served) {
		s.isResumed(func(session string) { processes.Kill([]int{s.supervisor(session)}) }, "supervisor")
	})
}

// isResumed kills something in the middle of a call, and resumes the session.
func (s *served) isResumed(kill func(session string), reason string) {
	s.Helper()
	begun := s.pipe("begun")
	s.works()
	session := s.spawn(nil)
	s.read(begun)
	// The CLIs write their conversation some time after they show it: Claude Code a call and the result before it,
	// Gemini only what is complete.
	written := map[string]string{agent.Claude: "during", agent.Codex: "before", agent.Gemini: "before"}[s.name]
	s.until("the agent keeps its conversation", func() bool { return s.keeps(session, "touch "+written) })
	former, err := s.admin.Credential(s.Context(), session)
	if err != nil {
		s.Fatal(err)
	}
	kill(session)
	x := s.ended(session)
	if x.Status != "failed" || !strings.Contains(x.Run.Reason+x.Run.Signal, reason) || x.Run.Conversation == "" {
		s.explain(session)
		s.Fatalf("it ended as %s", shown(x))
	}
	s.until("nothing of the killed run is left", func() bool { return len(s.alive(session)) == 0 })
	s.forget()
	s.run("session", "resume", session)
	x = s.waits(session, "the resumed run ends", func(x wire.Session) bool {
		return x.Run.Number == 2 && x.Run.ExitedAt != nil
	})
	if x.Status != "completed" || !x.Run.Resumes {
		s.explain(session)
		s.Errorf("it ended as %s", shown(x))
	}
	if !s.together("TASK-SEEN", "touch before", "You continue where you stopped") {
		s.Error("the next run does not continue the conversation")
	}
	_, err = client.New(s.address, former.Token).Whoami(s.Context())
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		s.Errorf("with its former secret: %v", err)
	}
	s.nothingLeft()
}

// An agent goes on while its server is away. What it reports meanwhile arrives.
func TestServerIsKilled(t *testing.T) {
	everyServed(t, func(s *served) {
		begun, away, back := s.pipe("begun"), s.pipe("away"), s.pipe("back")
		s.steps(
			mockmodel.Shell("echo > begun; read line < away"),
			mockmodel.Shell("maestro report progress 'WHILE-AWAY'; echo > begun; read line < back"),
			complete,
		)
		session := s.spawn(nil)
		s.read(begun)
		if err := s.process.Process.Kill(); err != nil {
			s.Fatal(err)
		}
		_ = s.process.Wait()
		s.write(away)
		s.read(begun)
		s.start()
		s.write(back)
		x := s.ended(session)
		if x.Status != "completed" || x.Run.Number != 1 {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		if n := strings.Count(s.run("session", "info", session, "--timeline"), "WHILE-AWAY"); n != 1 {
			s.Errorf("what it reported meanwhile is there %d times", n)
		}
		s.nothingLeft()
	})
}

// write lets the agent read from a pipe.
func (s *served) write(pipe string) {
	s.Helper()
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		s.Fatal(err)
	}
	if _, err := f.WriteString("\n"); err != nil {
		s.Fatal(err)
	}
	if err := f.Close(); err != nil {
		s.Fatal(err)
	}
}

// cli are the processes of the agent's own program, without its tools.
func (s *served) cli(session string) (pids []int) {
	s.Helper()
	program, err := filepath.EvalSymlinks(filepath.Join(*clis, s.name))
	if err != nil {
		s.Fatal(err)
	}
	packages := filepath.Dir(filepath.Dir(program))
	for _, pid := range processes.Below(s.supervisor(session)) {
		line, err := os.ReadFile(filepath.Join(processes.Proc, strconv.Itoa(pid), "cmdline"))
		args := bytes.Split(line, []byte{0})
		if err == nil && len(args) > 2 && (bytes.HasPrefix(args[0], []byte(*clis)) ||
			bytes.HasPrefix(args[0], []byte(packages)) || bytes.HasPrefix(args[1], []byte(*clis))) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		s.Fatal("the agent's program does not run")
	}
	return pids
}

// keeps reports whether a text is in the agent's own state.
func (s *served) keeps(session, text string) (found bool) {
	state := filepath.Join(s.workspaces, session, ".state")
	_ = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			content, err := os.ReadFile(path)
			found = found || err == nil && bytes.Contains(content, []byte(text))
		}
		return nil // it changes while we look
	})
	return found
}

// signal sends a signal to a process; 0 would stand for every process of the test.
func (s *served) signal(pid int, signal syscall.Signal) {
	s.Helper()
	if pid <= 1 {
		s.Fatalf("process %d is not to be signalled", pid)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		s.Fatal(err)
	}
}

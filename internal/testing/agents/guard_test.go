//go:build agents

package agents_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"maestro/internal/testing/mockmodel"
	"maestro/workers/agent"
	"maestro/workers/processes"
)

// A call runs only after its decision: not while the hook is slow, not when it crashes, not when its program is gone,
// and not when the target says that there are no hooks. The agent goes on after each.
func TestCallsWaitForTheirDecision(t *testing.T) {
	everyCLI(t, func(t *testing.T, name string) {
		s := newServed(t, name)
		s.ownProgram()
		s.begin()
		for path, content := range off {
			path = filepath.Join(s.target, path)
			if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(content), 0o600) != nil {
				t.Fatal("cannot write ", path)
			}
		}
		s.withoutHook()
	})
}

// denials are what a model reads of a call that was not decided about.
var denials = []string{"Maestro cannot decide about this call", "Maestro did not allow this call"}

// withoutHook lets an agent call its tool while its hook fails in several ways. The pipe `begun` says that it works,
// `go` lets it go on.
func (s *served) withoutHook() {
	s.Helper()
	begun, proceed := s.pipe("begun"), s.pipe("go")
	wait := func(i int) mockmodel.Step {
		return mockmodel.Shell("echo " + strconv.Itoa(i) + " > begun; read line < go")
	}
	denied, restored := make(chan string, 10), make(chan struct{})
	steps := []mockmodel.Step{
		mockmodel.Shell("touch forbidden; mkfs.ext4 -n x"),
		wait(1), mockmodel.Shell("touch slow"), mockmodel.Shell("touch crashed"),
		wait(2), mockmodel.Shell("touch missing"), complete,
	}
	told := 0
	s.follow(func(_ []string, results []mockmodel.Result) mockmodel.Step {
		n := len(results)
		if n > told {
			told = n
			denied <- results[n-1].Text
		}
		if n < len(steps) {
			if n == len(steps)-1 {
				<-restored
			}
			return steps[n]
		}
		return mockmodel.Step{Text: "Done."}
	})
	session := s.spawn(nil)
	if text := s.next(denied); !strings.Contains(text, "formats") {
		s.Errorf("of a forbidden call, the model read %q", text)
	}
	s.read(begun)
	supervisor := s.supervisor(session)
	s.signal(supervisor, syscall.SIGSTOP)
	s.write(proceed)
	s.next(denied) // the call that waited
	if text := s.next(denied); !strings.Contains(text, denials[0]) {
		s.Errorf("of a slow hook, the model read %q", text)
	}
	s.until("the hook of the next call runs", func() bool { return s.hook(supervisor) != 0 })
	s.signal(s.hook(supervisor), syscall.SIGKILL)
	if text := s.next(denied); !strings.Contains(text, denials[1]) {
		s.Errorf("of a crash of its hook, the model read %q", text)
	}
	s.until("the hook of the call after it runs", func() bool { return s.hook(supervisor) != 0 })
	s.signal(supervisor, syscall.SIGCONT)
	s.read(begun)
	if err := os.Chmod(s.program, 0); err != nil { // the agent's own mount has the file even if it is removed
		s.Fatal(err)
	}
	s.write(proceed)
	s.next(denied)
	if text := s.next(denied); !strings.Contains(text, denials[1]) {
		s.Errorf("without its hook, the model read %q", text)
	}
	if err := os.Chmod(s.program, 0o700); err != nil {
		s.Fatal(err)
	}
	close(restored)
	if x := s.ended(session); x.Status != "completed" || x.Run.Number != 1 {
		s.explain(session)
		s.Errorf("it ended as %s", shown(x))
	}
	for _, name := range []string{"slow", "crashed", "missing", "forbidden"} {
		if s.has(name) {
			s.Errorf("the call of the hook that was %s ran", name)
		}
	}
	s.nothingLeft()
}

// next returns what the model reads next.
func (s *served) next(read <-chan string) string {
	s.Helper()
	select {
	case text := <-read:
		return text
	case <-time.After(patience):
		s.Fatal("no call comes back")
		return ""
	}
}

// ownProgram gives the test a maestro of its own, which it may take away.
func (s *served) ownProgram() {
	s.Helper()
	from, err := os.Open(s.program)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	s.program = filepath.Join(filepath.Dir(s.home), "bin", "maestro")
	if err := os.Mkdir(filepath.Dir(s.program), 0o700); err != nil {
		s.Fatal(err)
	}
	to, err := os.OpenFile(s.program, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		s.Fatal(err)
	}
	if err := to.Close(); err != nil {
		s.Fatal(err)
	}
}

// hook returns the process of a hook that runs, 0 if none does.
func (s *served) hook(supervisor int) int {
	below := processes.Below(supervisor)
	at := slices.IndexFunc(below, func(pid int) bool {
		line, err := os.ReadFile(filepath.Join(processes.Proc, strconv.Itoa(pid), "cmdline"))
		return err == nil && bytes.HasPrefix(line, []byte(s.program+"\x00hook\x00"))
	})
	if at < 0 {
		return 0
	}
	return below[at]
}

// An agent whose CLI calls a tool without asking its hook is ended, and its user learns it.
func TestUnguardedAgentIsEnded(t *testing.T) {
	everyCLI(t, func(t *testing.T, name string) {
		s := newServed(t, name)
		s.unguard()
		s.begin()
		begun := s.pipe("begun")
		s.steps(mockmodel.Shell("echo > begun"), mockmodel.Shell("sleep 600"), complete)
		session := s.spawn(nil)
		s.read(begun)
		x := s.ended(session)
		if x.Status != "failed" || !strings.Contains(x.Run.Reason, "without a decision") {
			s.explain(session)
			s.Errorf("it ended as %s", shown(x))
		}
		if events := s.events(session); !strings.Contains(events, "sandbox.blocked.v1") ||
			!strings.Contains(events, `"killed":true`) {
			s.Error("no event says that it was ended")
		}
		s.nothingLeft()
	})
}

// unguard puts a program in the place of the CLI that runs it without its hook, as a defect of it would.
func (s *served) unguard() {
	s.Helper()
	settings := s.settings(s.name)
	script := map[string]string{
		agent.Claude: `args=()
while [ $# -gt 0 ]; do
	args+=("$1")
	if [ "$1" = --settings ]; then args+=('{}'); shift; fi
	shift
done
exec "$CLI" "${args[@]}"`,
		agent.Codex: `args=()
while [ $# -gt 0 ]; do
	if [ "$1" = --enable ]; then args+=(--disable); else args+=("$1"); fi
	shift
done
exec "$CLI" "${args[@]}"`,
		agent.Gemini: `export GEMINI_CLI_SYSTEM_SETTINGS_PATH=$TARGET/system.json
exec "$CLI" "$@"`,
	}[s.name]
	wrapper := filepath.Join(filepath.Dir(s.home), s.name)
	script = "#!/bin/bash\nCLI='" + settings.Path + "' TARGET='" + s.target + "'\n" + script + "\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		s.Fatal(err)
	}
	system := []byte(`{"hooksConfig":{"enabled":false}}`)
	if err := os.WriteFile(filepath.Join(s.target, "system.json"), system, 0o600); err != nil {
		s.Fatal(err)
	}
	settings.Path = wrapper
	s.configure(settings)
}

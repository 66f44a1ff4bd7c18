package runner

import (
	"bufio"
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/processes"
	"maestro/workers/supervisor"
)

// tree is a process that is stopped, as a supervisor that hangs, with one below it that has a session of its own.
type tree struct {
	cmd        *exec.Cmd
	top, below int
}

func newTree(t *testing.T) *tree {
	t.Helper()
	cmd := exec.Command("bash", "-c", "setsid sleep 600 & echo $!; exec sleep 600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &tree{
		cmd: cmd,
		top: cmd.Process.Pid,
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // nobody has waited for it, so that the id is still its own
			processes.KillTree(x.top)
			_ = cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if x.below, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	processes.Signal([]int{x.top}, syscall.SIGSTOP)
	return x
}

// gone checks that the process was killed.
func (x *tree) gone(t *testing.T) {
	t.Helper()
	becomes(t, x.top, "Z")
	becomes(t, x.below, "Z")
	_ = x.cmd.Wait()
}

// state is what the kernel says about a process: T if it is stopped, S if it sleeps, Z or "" if it has ended.
func state(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "" // there is none
	}
	return strings.TrimSpace(string(out))[:1]
}

// becomes waits until a process is in a state.
func becomes(t *testing.T, pid int, want string) {
	t.Helper()
	got := ""
	for range 2000 {
		if got = state(t, pid); got == want || want == "Z" && got == "" {
			return
		}
	}
	t.Fatalf("process %d is %q, want %q", pid, got, want)
}

// hangs lets a process hold the lock of a session's run, as its supervisor.
func (m *machine) hangs(session string, saved supervisor.Saved) *home.RunFiles {
	m.t.Helper()
	m.supervised(session, saved)
	files, err := m.home.TakeRun(session)
	if err != nil {
		m.t.Fatal(err)
	}
	return files
}

// after lets some time of the bubble pass.
func after(wait time.Duration) { <-time.After(wait) }

// A supervisor that is stopped does not end with its session. It is continued first, and later killed with everything
// below it; then the server is told why the run ended.
func TestSupervisorThatHangs(t *testing.T) {
	const killed = "exited a/1/exited: its supervisor did not end within 30s after the session had ended, " +
		"so the runner killed it"
	ended := []wire.RunnerSession{session("a", wire.WorkEnded, 1)}
	for name, start := range map[string]func(m *machine, x *tree) (ends func()){
		"started by an earlier server": func(m *machine, x *tree) func() {
			files := m.hangs("a", supervisor.Saved{
				Run:    1,
				Runner: "local",
				PID:    x.top,
				Ticks:  processes.Started(x.top),
			})
			return func() { _ = files.Close() }
		},
		"started by this runner, and never got to its lock": func(m *machine, x *tree) func() {
			m.pid = x.top
			m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 1)},
				"claim a/1/claim", "start a run 1 secret-of-a speaks-for-a")
			m.supervised("a", supervisor.Saved{Run: 1})
			return func() { m.ends["a"](nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTree(t)
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, 1)
				ends := start(m, x)
				m.sees(ended)
				after(continuesAfter - time.Second)
				m.sees(ended)
				becomes(t, x.top, "T")
				after(time.Second)
				m.sees(ended)
				becomes(t, x.top, "S")
				processes.Signal([]int{x.top}, syscall.SIGSTOP)
				after(endsWithin - continuesAfter - time.Second)
				m.sees(ended)
				becomes(t, x.below, "S")
				after(time.Second)
				m.sees(ended)
				x.gone(t)
				ends()
				m.sees(ended, killed)
			})
		})
	}
}

// A session that was resumed does not wait for ever for the end of a supervisor that hangs.
func TestSupervisorHangsBeforeTheNextRun(t *testing.T) {
	x := newTree(t)
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, 1)
		files := m.hangs("a", supervisor.Saved{
			Run:    1,
			Runner: "local",
			PID:    x.top,
			Ticks:  processes.Started(x.top),
		})
		next := []wire.RunnerSession{session("a", wire.WorkClaim, 2)}
		m.sees(next)
		after(endsWithin)
		m.sees(next)
		x.gone(t)
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
		m.sees(next, "claim a/2/claim", "start a run 2 secret-of-a speaks-for-a")
	})
}

// What may not be killed: a process that got the id of a supervisor, the supervisor of a later run, one in somebody's
// terminal, and that of a session that goes on.
func TestSupervisorThatIsLeftAlone(t *testing.T) {
	hangs := func(x *tree) supervisor.Saved {
		return supervisor.Saved{
			Run:    1,
			Runner: "local",
			PID:    x.top,
			Ticks:  processes.Started(x.top),
		}
	}
	ended := session("a", wire.WorkEnded, 1)
	for name, test := range map[string]struct {
		is    wire.RunnerSession
		saved func(saved *supervisor.Saved)
	}{
		"another process":           {ended, func(saved *supervisor.Saved) { saved.Ticks++ }},
		"not known which":           {ended, func(saved *supervisor.Saved) { saved.Ticks = 0 }},
		"a later run":               {ended, func(saved *supervisor.Saved) { saved.Run = 2 }},
		"in a terminal":             {ended, func(saved *supervisor.Saved) { saved.Runner = "terminal" }},
		"its session goes on":       {session("a", wire.WorkRunning, 1), func(*supervisor.Saved) {}},
		"of the run that may begin": {session("a", wire.WorkClaim, 1), func(*supervisor.Saved) {}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTree(t)
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, 1)
				saved := hangs(x)
				test.saved(&saved)
				files := m.hangs("a", saved)
				defer func() { _ = files.Close() }()
				for range 3 {
					m.sees([]wire.RunnerSession{test.is})
					after(endsWithin)
				}
				becomes(t, x.top, "T")
			})
		})
	}
}

// A supervisor that this runner started, and whose run the server knows to be over, may not stay either.
func TestSupervisorHangsAfterItsReport(t *testing.T) {
	x := newTree(t)
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, 1)
		m.pid = x.top
		m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 1)},
			"claim a/1/claim", "start a run 1 secret-of-a speaks-for-a")
		for _, work := range []wire.RunnerWork{{}, {Protocol: 1, More: 1}} { // they do not say that it is over
			m.runner.compare(t.Context(), work)
			after(endsWithin)
			m.runner.compare(t.Context(), work)
			becomes(t, x.top, "T")
		}
		m.runner.compare(t.Context(), wire.RunnerWork{Protocol: 1})
		after(endsWithin)
		m.runner.compare(t.Context(), wire.RunnerWork{Protocol: 1})
		x.gone(t)
	})
}

// What an agent without a supervisor left behind is killed, and the log says so once.
func TestRemainsAreKilled(t *testing.T) {
	m := newMachine(t, 1)
	socket := filepath.Join(t.TempDir(), "a", "agent.sock")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	remains := func() {
		cmd := exec.Command("sleep", "600")
		cmd.Env = append(os.Environ(), wire.EnvSocket+"="+socket)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		waiting.Go(func() { _ = cmd.Wait() })
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			waiting.Wait()
		})
		for !slices.Contains(processes.With(wire.EnvSocket+"="+socket), cmd.Process.Pid) {
			runtime.Gosched() // the kernel shows its environment a moment after its start
		}
	}
	remains()
	var log bytes.Buffer
	m.runner.Logger = slog.New(slog.NewTextHandler(&log, nil))
	looks := 0
	m.runner.After = func(wait time.Duration) <-chan time.Time {
		if looks++; looks == 1 {
			remains() // something had just been started
		}
		return time.After(wait)
	}
	m.supervised("a", supervisor.Saved{Run: 1, Socket: socket})
	m.runner.compare(t.Context(), wire.RunnerWork{Sessions: []wire.RunnerSession{session("a", wire.WorkEnded, 1)}})
	if n := strings.Count(log.String(), "are ended"); n != 1 {
		t.Errorf("it said %d times that it ends processes:\n%s", n, log.String())
	}
	if _, err := os.Stat(filepath.Dir(socket)); err == nil {
		t.Error("the directory of the socket is left")
	}
}

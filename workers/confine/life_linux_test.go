package confine

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// both runs a test behind all layers, and without namespaces.
func both(t *testing.T, test func(t *testing.T, layers []Layer)) {
	t.Helper()
	all := everything(t, Policy{})
	t.Run("all layers", func(t *testing.T) { test(t, all) })
	t.Run("without namespaces", func(t *testing.T) { test(t, without(all, Namespaces)) })
}

func TestExitCodes(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		lines := map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9}
		for line, want := range lines {
			w := newWorld(t)
			cmd, output := w.command(shell(line)...)
			if code := w.run(layers, cmd); code != want {
				t.Errorf("%s: exit code %d, want %d\n%s", line, code, want, output)
			}
		}
	})
}

func TestCommandThatCannotRun(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		w := newWorld(t)
		for path, want := range map[string]int{
			w.target + "/none":             codeMissing,
			w.target + "/README":           codeRefused,
			w.home + "/maestro/token":      codeRefused, // hidden; where mounts hide it, it does not exist
			w.target + "/README/not/there": codeRefused,
		} {
			cmd, _ := w.command(path)
			cmd.Path, cmd.Err = path, nil
			_, err := Start(t.Context(), agentExec(), w.policy, layers, cmd)
			refused, ok := errors.AsType[*Refused](err)
			if !ok || refused.Code != want && !strings.Contains(path, "token") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// A signal to agent-exec reaches the command.
func TestSignals(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1} {
			w := newWorld(t)
			cmd, _ := w.command(helper("await")...)
			hold, held, err := os.Pipe()
			must(t, err)
			cmd.Stdin, cmd.Stdout = hold, nil
			said, err := cmd.StdoutPipe()
			must(t, err)
			process, err := Start(t.Context(), agentExec(), w.policy, layers, cmd)
			must(t, err)
			must(t, cmd.Stdout.(io.Closer).Close())
			line, err := bufio.NewReader(said).ReadString('\n')
			if err != nil || line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			must(t, process.Signal(signal))
			_ = process.Wait() // the code says more
			if code := process.State().ExitCode(); code != int(signal) {
				t.Errorf("%v: exit code %d", signal, code)
			}
			must(t, errors.Join(hold.Close(), held.Close(), said.Close()))
		}
	})
}

// leaveBehind starts processes that try to outlive the command. Each of them holds the standard output.
const leaveBehind = "nohup sleep 1000 2>/dev/null & setsid sleep 1000 & (setsid bash -c 'trap \"\" TERM HUP INT; " +
	"(sleep 1000 & sleep 1000) & sleep 1000' &) ; echo ready; "

// What a command leaves behind ends with it: the output ends when its last writer does.
func TestNothingOutlivesTheCommand(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		w := newWorld(t)
		read, write, err := os.Pipe()
		must(t, err)
		cmd, _ := w.command(shell(leaveBehind)...)
		cmd.Stdout = write
		process, err := Start(t.Context(), agentExec(), w.policy, layers, cmd)
		must(t, err)
		must(t, write.Close())
		must(t, process.Wait())
		if output, err := io.ReadAll(read); err != nil || string(output) != "ready\n" {
			t.Errorf("%q, %v", output, err)
		}
		must(t, read.Close())
	})
}

// The command ends when agent-exec is killed, or when whoever started it is.
func TestNothingOutlivesTheSupervisor(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		w := newWorld(t)
		var names []string
		for _, layer := range layers {
			names = append(names, string(layer))
		}
		args := append([]string{"program", "supervisor", w.home, w.policy.Temp, strings.Join(names, ",")},
			shell(leaveBehind+"sleep 1000")...)
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir = w.target
		said, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		output := bufio.NewReader(said)
		if line, err := output.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		must(t, cmd.Process.Kill())
		if rest, err := io.ReadAll(output); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
		_ = cmd.Wait() // it was killed
	})
}

func TestKill(t *testing.T) {
	all := everything(t, Policy{})
	w := newWorld(t)
	read, write, err := os.Pipe()
	must(t, err)
	cmd, _ := w.command(shell(leaveBehind + "sleep 1000")...)
	cmd.Stdout = write
	process, err := Start(t.Context(), agentExec(), w.policy, all, cmd)
	must(t, err)
	must(t, write.Close())
	process.Kill()
	if err := process.Wait(); err == nil {
		t.Error("a killed command has ended well")
	}
	if _, err := io.ReadAll(read); err != nil {
		t.Error(err)
	}
	must(t, read.Close())
}

func TestStartEndsWithItsContext(t *testing.T) {
	all := everything(t, Policy{})
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("no longer wanted")
	cancel(reason)
	cmd, _ := w.command("true")
	if _, err := Start(ctx, agentExec(), w.policy, all, cmd); !errors.Is(err, reason) {
		t.Errorf("Start: %v", err)
	}
}

// The layers are those of the command itself, not only what attempts notice.
func TestStatus(t *testing.T) {
	both(t, func(t *testing.T, layers []Layer) {
		w := newWorld(t)
		cmd, output := w.command(shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")...)
		if code := w.run(layers, cmd); code != 0 {
			t.Fatalf("exit code %d\n%s", code, output)
		}
		want := map[string]string{"NoNewPrivs:": "1", "Seccomp:": "2"}
		for _, name := range []string{"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"} {
			want[name] = "0000000000000000"
		}
		if os.Getuid() != 0 && !slices.Contains(layers, Namespaces) {
			delete(want, "CapBnd:") // only root may lower it
		}
		for name, value := range want {
			if !strings.Contains(output.String(), name+"\t"+value+"\n") {
				t.Errorf("%s is not %s\n%s", name, value, output)
			}
		}
	})
}

// Whoever runs agent-exec by hand is told what to do.
func TestAgentExecAlone(t *testing.T) {
	cmd := exec.Command(os.Args[0], "agent-exec")
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != codeRefused || !strings.Contains(string(output), "maestro") {
		t.Errorf("%v: %s", err, output)
	}
}

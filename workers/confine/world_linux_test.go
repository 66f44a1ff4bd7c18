package confine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const secretText = "the-secret-of-the-user"

// world is a user's home with what attempts are after, and a process of that user.
type world struct {
	t         *testing.T
	home      string
	target    string
	workspace string
	outside   string // a directory that is neither hidden nor the command's
	socket    string
	allowed   string // a socket that the policy gives
	abstract  string
	pid, fd   string // of the victim
	cache     string // of Go's results, if the test has one
	policy    Policy
}

// newWorld makes a world.
func newWorld(t *testing.T) *world {
	t.Helper()
	root := scratch(t)
	w := &world{
		t:         t,
		home:      filepath.Join(root, "home"),
		target:    filepath.Join(root, "home/target"),
		workspace: filepath.Join(root, "home/workspace/mine"),
		outside:   filepath.Join(root, "outside"),
		socket:    filepath.Join(root, "outside/s"),
		allowed:   filepath.Join(root, "home/maestro/allowed"),
		abstract:  "@" + root,
	}
	files := map[string]string{
		"home/.bashrc":                       "# start\n",
		"home/.profile":                      "# start\n",
		"home/.ssh/id":                       secretText,
		"home/.config/gh/hosts":              secretText,
		"home/.npmrc":                        "//registry.example/:_authToken=" + secretText + "\n",
		"home/.netrc":                        "machine example login a password " + secretText + "\n",
		"home/.git-credentials":              "https://a:" + secretText + "@example\n",
		"home/.config/git/ignore":            "*.o\n",
		"home/repository/.git/hooks/x":       "",
		"home/maestro/token":                 secretText,
		"home/workspace/other/secret":        secretText,
		"home/workspace/mine/.state/rules":   "keep\n",
		"home/workspace/mine/.state/session": "",
		"home/workspace/mine/.tmp/keep":      "",
		"home/target/README":                 "hello\n",
		"outside/notes":                      "notes\n",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	real, err := os.UserHomeDir()
	must(t, err)
	w.policy = Policy{
		Home:      w.home,
		ReadWrite: []string{w.target, w.workspace},
		ReadOnly:  []string{filepath.Join(w.workspace, ".state/rules")},
		Hidden:    []string{filepath.Join(root, "home/maestro"), filepath.Join(root, "home/workspace")},
		Exposed:   []string{w.outside, real}, // programs may be in the home of whoever runs the tests
		Temp:      filepath.Join(w.workspace, ".tmp"),
		Sockets:   []string{w.allowed},
	}
	w.startVictim()
	return w
}

// scratch returns a new directory.
func scratch(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "confine")
	must(t, err)
	must(t, os.Chmod(root, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(root)) })
	return root
}

func (w *world) startVictim() {
	w.t.Helper()
	victim := exec.Command(os.Args[0], "program", "victim", filepath.Join(w.home, ".ssh/id"),
		w.socket, w.allowed, w.abstract)
	victim.Env = append(os.Environ(), "TOKEN="+secretText)
	hold, err := victim.StdinPipe()
	must(w.t, err)
	said, err := victim.StdoutPipe()
	must(w.t, err)
	victim.Stderr = os.Stderr
	must(w.t, victim.Start())
	w.t.Cleanup(func() {
		must(w.t, hold.Close())
		_ = victim.Process.Kill() // an attempt may have stopped or killed it
		_ = victim.Wait()
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	must(w.t, err)
	w.pid, w.fd = fmt.Sprint(victim.Process.Pid), strings.TrimSpace(line)
}

// replace puts the names of this world into a command line.
func (w *world) replace(argv []string) []string {
	names := strings.NewReplacer(
		"{home}", w.home, "{target}", w.target, "{workspace}", w.workspace, "{outside}", w.outside,
		"{socket}", w.socket, "{allowed}", w.allowed, "{abstract}", w.abstract,
		"{pid}", w.pid, "{number}", w.fd, "{self}", os.Args[0], "{cache}", w.cache)
	var replaced []string
	for _, arg := range argv {
		replaced = append(replaced, names.Replace(arg))
	}
	return replaced
}

// command is an argv in the world's target.
func (w *world) command(argv ...string) (*exec.Cmd, *bytes.Buffer) {
	argv = w.replace(argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = w.target
	cmd.Env = append(os.Environ(), "HOME="+w.home, "TMPDIR="+w.policy.Temp)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	return cmd, &output
}

// run runs a command behind layers; without layers, it runs it as it is. It returns the exit code.
func (w *world) run(layers []Layer, cmd *exec.Cmd) int {
	w.t.Helper()
	if layers == nil {
		err := cmd.Run()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			w.t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
	process, err := Start(w.t.Context(), agentExec(), w.policy, layers, cmd)
	must(w.t, err)
	err = process.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		w.t.Fatal(err)
	}
	return process.State().ExitCode()
}

func agentExec() []string { return []string{os.Args[0], "agent-exec"} }

// everything returns all layers that a policy can use here. A machine without one of them cannot run the tests.
func everything(t *testing.T, p Policy) []Layer {
	t.Helper()
	var available []Layer
	for _, s := range Probe(t.Context(), agentExec()) {
		if s.Missing != nil && offers(s.Layer) {
			t.Fatalf("this machine can have the layer %s: %v", s.Layer, s.Missing)
		}
		if s.Missing != nil {
			t.Skipf("this machine does not offer the layer %s: %v", s.Layer, s.Missing)
		}
		available = append(available, s.Layer)
	}
	return p.Layers(available)
}

// offers says whether a machine should have a layer, by other means than those of the package: a test that is skipped
// because of a mistake would show nothing.
func offers(layer Layer) bool {
	switch layer {
	case Namespaces, NetworkNone:
		cmd := exec.Command(os.Args[0], "program", "mount", "/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		return cmd.Run() == nil
	case Seccomp, NoNewPrivileges:
		return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
	default:
		_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
		return errno == 0
	}
}

// without returns the layers except one.
func without(layers []Layer, except Layer) []Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l Layer) bool { return l == except })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (controller, terminal *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { controller.Close() })
	must(t, unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	must(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { terminal.Close() })
	return controller, terminal
}

// supervisor starts a command as a supervisor does, says so, and waits until it is killed.
func supervisor(args []string) error { // home, temp, layers, command
	var layers []Layer
	for name := range strings.SplitSeq(args[2], ",") {
		layers = append(layers, Layer(name))
	}
	cmd := exec.Command(args[3], args[4:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	process, err := Start(context.Background(), agentExec(), Policy{Home: args[0], Temp: args[1]}, layers, cmd)
	if err != nil {
		return err
	}
	return process.Wait()
}

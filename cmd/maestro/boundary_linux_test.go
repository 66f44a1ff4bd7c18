package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/service/wire"
	"maestro/workers/confine"
)

// becomes is an agent that tries to become its user, in many ways. A way works if its command succeeds; each appends
// one line to the file tried. HOME_OF_MAESTRO and the others are replaced. Without confinement, each way begins with
// its own copy of the repository, because the ones before it may have spoiled theirs.
const becomes = `#!/bin/bash
cat >/dev/null
cd "TARGET"
try() { # name, command
	if [ CONFINED = off ]; then
		find . -mindepth 1 -maxdepth 1 ! -name tried -exec rm -rf {} + && cp -a "PRISTINE/.git" .git
	fi
	if out=$(bash -c "$2" 2>&1)
	then echo "$1: WORKED" >>tried
	else out=${out//$'\n'/ }; echo "$1: refused: ${out:0:200}" >>tried
	fi
}
export clean="env -i PATH=$PATH HOME=$HOME MAESTRO_HOME=HOME_OF_MAESTRO"
ATTEMPTS
maestro report complete "tried everything"
`

// falseProgram is an attempt that its agent cannot judge: its own /tmp may have a directory with the same name.
const falseProgram = "a false program in PATH"

// TestAgentCannotBecomeItsUser lets an agent try, confined as by default, what would make it its user. No way may work.
// Without confinement, each works, so that it is a real attempt, or the list says why it does not.
func TestAgentCannotBecomeItsUser(t *testing.T) {
	layersOrSkip(t)
	confined, open := tried(t, "on"), tried(t, "off")
	shown := 0
	for _, b := range becomings {
		if said := confined[b.name]; !strings.HasPrefix(said, "refused") {
			t.Errorf("confined: %s: %q", b.name, said)
		}
		said, why := open[b.name], b.unshown()
		switch worked := said == "WORKED"; {
		case worked && b.never != "":
			t.Errorf("not confined, %q works, although %s", b.name, b.never)
		case worked:
			shown++
		case why == "":
			t.Errorf("not confined, %q does not work either, so that it tries nothing: %q", b.name, said)
		default:
			t.Logf("not shown to work without confinement: %s: %s: %q", b.name, why, said)
		}
	}
	t.Logf("%d attempts are refused; %d of them are shown to work without confinement", len(becomings), shown)
}

// layersOrSkip skips a test where the kernel lacks a layer that files and processes are confined with. It fails if the
// kernel has the layer, and it is not used.
func layersOrSkip(t *testing.T) {
	t.Helper()
	tried := confine.Probe(t.Context(), []string{mustLookPath(t, "maestro"), "agent-exec"})
	if len(tried) == 0 {
		t.Fatal("no layer is known on Linux")
	}
	var lacks []string
	for _, s := range tried {
		if s.Missing == nil || s.Layer == confine.NetworkPorts || s.Layer == confine.NetworkNone {
			continue
		}
		if err := kernelLacks(s.Layer); err == nil {
			t.Errorf("this kernel offers the layer %s, and it is not used: %v", s.Layer, s.Missing)
		} else {
			lacks = append(lacks, fmt.Sprintf("%s (%v)", s.Layer, err))
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	if lacks != nil {
		t.Skipf("this kernel lacks %s: docs/security.md says what remains possible", strings.Join(lacks, ", "))
	}
}

// kernelLacks says why a layer cannot be used here, by other means than those of the product; nil if it can.
func kernelLacks(layer confine.Layer) error {
	switch layer {
	case confine.Namespaces:
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		return cmd.Run()
	case confine.Seccomp, confine.NoNewPrivileges:
		if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			return fmt.Errorf("there is no filter for %s", runtime.GOARCH)
		}
		return nil
	default:
		const oldest = 3 // see candidates in workers/confine
		version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
		if errno != 0 {
			return errno
		}
		if version < oldest {
			return fmt.Errorf("its version is %d", version)
		}
		return nil
	}
}

// repository makes a git repository with a commit.
func repository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-q", "--allow-empty", "-m", "First"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, said)
		}
	}
}

// multiplex listens on a socket as a terminal multiplexer does that runs what it is told, and notes in the target that
// somebody reached it. Where tmux is installed, it listens on the other socket.
func multiplex(t *testing.T, target, socket, tmux string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = os.WriteFile(filepath.Join(target, "reached"), nil, 0o600)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	if program, err := exec.LookPath("tmux"); err == nil {
		if said, err := exec.Command(program, "-S", tmux, "new-session", "-d").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		t.Cleanup(func() { _ = exec.Command(program, "-S", tmux, "kill-server").Run() })
	}
}

func mustLookPath(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// tried runs the agent, and returns what came of each attempt, by name.
func tried(t *testing.T, confined string) map[string]string {
	t.Helper()
	user := t.TempDir()
	t.Setenv("HOME", user)
	h := newAgents(t, scripted, "--confine", confined)
	outside, pristine := filepath.Join(user, "outside"), filepath.Join(user, "pristine")
	for _, dir := range []string{filepath.Join(outside, ".git", "hooks"), pristine} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	repository(t, pristine)
	if err := os.CopyFS(h.target, os.DirFS(pristine)); err != nil {
		t.Fatal(err)
	}
	multiplexers := []string{filepath.Join(user, "multiplexer.sock"), filepath.Join(user, "tmux.sock")}
	multiplex(t, h.target, multiplexers[0], multiplexers[1])
	other, named := h.spawn(nil), h.spawn(nil)
	for _, session := range []string{other, named} {
		h.until("the other agents report", func() bool { return h.steps(session)["step 3"] > 0 })
	}
	// A program of the user has a token in its environment.
	program := exec.Command("sleep", "600")
	program.Env = append(os.Environ(), wire.EnvToken+"=msu_of_a_user")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	task, _ := h.made(h.admin(), "task:create", map[string]any{"project": h.project, "title": "Not its own"})
	var attempts strings.Builder
	for _, b := range becomings {
		if confined == "on" || b.skipped == "" {
			fmt.Fprintf(&attempts, "try %s %s\n", quoted(b.name), quoted(b.command))
		}
	}
	script := strings.NewReplacer(
		"HOME_OF_MAESTRO", h.home, "TARGET", h.target, "ADDRESS", h.address, "WORKSPACES", h.workspaces,
		"OTHER_SOCKET", filepath.Join(h.workspaces, ".run", other, "agent.sock"), "OTHER", other, "NAMED", named,
		"TASK", fmt.Sprint(task["taskId"]), "OUTSIDE", outside, "SUPERVISOR", fmt.Sprint(h.supervisor(other)),
		"REAL_TMUX", multiplexers[1], "MULTIPLEXER", multiplexers[0], "PRISTINE", pristine, "CONFINED", confined,
	).Replace(strings.Replace(becomes, "ATTEMPTS", attempts.String(), 1))
	agent := filepath.Join(t.TempDir(), "becomes.sh")
	config, err := json.Marshal(map[string]any{"agents": map[string]any{
		"becomes": map[string]any{"command": []string{agent}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{agent: script, filepath.Join(h.home, "agents.json"): string(config)} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(h.home, "agents.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	session := h.spawn(map[string]any{"agent": "becomes"})
	h.until("the agent has tried everything", func() bool {
		x, err := h.admin().Session(t.Context(), session)
		return err == nil && x.EndedAt != nil
	})
	content, err := os.ReadFile(filepath.Join(h.target, "tried"))
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		results[name] = said
	}
	results[falseProgram] = "refused"
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "maestro-of-an-agent"); isFile(path) {
			results[falseProgram] = "WORKED"
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	}
	for _, b := range becomings {
		if _, was := results[b.name]; !was && (confined == "on" || b.skipped == "") {
			t.Errorf("with --confine %s, it did not try %q: %s", confined, b.name, content)
		}
	}
	return results
}

// quoted is a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

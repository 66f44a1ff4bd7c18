package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"maestro/workers/confine"
)

// becomes is an agent that tries to become its user, in many ways. A way works if its command succeeds; each appends
// one line to the file tried. HOME_OF_MAESTRO and the others are replaced.
const becomes = `#!/bin/bash
cat >/dev/null
cd "TARGET"
try() { # name, command
	if out=$(bash -c "$2" 2>&1)
	then out=${out//$'\n'/ }; echo "$1: WORKED: ${out:0:200}" >>tried
	else echo "$1: refused" >>tried
	fi
}
clean="env -i PATH=$PATH HOME=$HOME MAESTRO_HOME=HOME_OF_MAESTRO"
try "read the token" "cat HOME_OF_MAESTRO/admin.token"
try "read the key" "cat HOME_OF_MAESTRO/server.key"
try "list the home" "[ -n \"\$(ls -A HOME_OF_MAESTRO)\" ]"
try "unset variables" "$clean maestro token create eve1"
try "unset variables, keep nothing" "env -i PATH=$PATH HOME=$HOME MAESTRO_API_URL=ADDRESS maestro token create eve2"
try "no token at all" "env -i PATH=$PATH MAESTRO_API_URL=ADDRESS MAESTRO_HOME=/nonexistent maestro task list"
try "double fork" "(setsid $clean maestro token create eve3 >double 2>&1 && touch worked &)
	for i in {1..40}; do [ -s double ] && break; read -t 0.05 <> <(:); done; [ -e worked ]"
try "nohup" "nohup $clean maestro token create eve4"
try "a user's command" "maestro task complete TASK"
try "a runner's command" "maestro session kill OTHER"
try "its own secret" "maestro session exec $MAESTRO_SESSION_ID -- env | grep -q mss_"
try "a secret in the environment" "env | grep -qE 'ms[sur]_|TOKEN='"
try "a secret in another process" "cat /proc/[0-9]*/environ 2>/dev/null | grep -qaE 'ms[sur]_'"
try "another process's memory" "for p in /proc/[0-9]*; do
	[ \$p = /proc/\$\$ ] || head -c 1 \$p/mem; done 2>/dev/null | grep -q ."
try "another session's socket" "MAESTRO_SOCKET=OTHER_SOCKET MAESTRO_SESSION_ID=OTHER maestro report progress stolen"
try "replace its own socket" "rm $MAESTRO_SOCKET && touch $MAESTRO_SOCKET"
try "another session's workspace" "cat WORKSPACES/OTHER/manifest.json"
try "a link to the home" "ln -s HOME_OF_MAESTRO link && cat link/admin.token"
try "a hard link to the token" "ln HOME_OF_MAESTRO/admin.token hard"
try "its manifest" "echo '{}' >$MAESTRO_MANIFEST_PATH"
try "the user's shell" "echo 'touch $HOME/owned' >>$HOME/.bashrc"
try "the user's git" "git config --global core.hooksPath /tmp"
try "a hook of another repository" "echo x >OUTSIDE/.git/hooks/pre-commit"
try "a hook of its own repository" "echo x >.git/hooks/pre-commit"
try "another directory for its hooks" "git config core.hooksPath evil"
try "a program that git runs" "git config core.fsmonitor ./evil"
try "a configuration in the place of git's" "cp .git/config c && echo x >>c && mv -f c .git/config"
try "a repository in the place of its own" "mv .git old"
try "hooks in the place of its own" "mv .git/hooks old"
try "a worktree without its hooks" "git worktree add -q wt && git -C wt config core.hooksPath evil"
try "another file of the user" "echo x >OUTSIDE/file"
try "the maestro program" "echo x >\"\$(command -v maestro)\""
try "a program that the user's shell finds" "mkdir -p $HOME/bin $HOME/.local/bin && echo x >$HOME/.local/bin/maestro"
try "a service of the user" "mkdir -p $HOME/.config/systemd/user && echo x >$HOME/.config/systemd/user/x.service"
try "what starts at a login" "mkdir -p $HOME/.config/autostart && echo x >$HOME/.config/autostart/x.desktop"
try "cron" "echo '* * * * * id' | crontab -"
try "the tables of cron" "for d in /var/spool/cron /var/spool/cron/crontabs /etc/cron.d; do
	: >\$d/maestro-of-an-agent && rm \$d/maestro-of-an-agent && exit 0; done; exit 1"
try "at" "echo id | at now"
try "the jobs of at" "for d in /var/spool/at /var/spool/cron/atjobs /var/spool/atjobs; do
	: >\$d/maestro-of-an-agent && rm \$d/maestro-of-an-agent && exit 0; done; exit 1"
try "the configuration of agents" "echo '{}' >HOME_OF_MAESTRO/agents.json"
try "a server of its own on the home" "timeout 5 $clean maestro serve --listen 127.0.0.1:0"
try "the user's terminal multiplexer" "MAESTRO_SOCKET=TMUX timeout 5 maestro whoami; [ -e reached ]"
try "a window of the user's tmux" "tmux -S REAL_TMUX new-window id"
(IFS=:; for d in $PATH; do : >$d/maestro-of-an-agent && break; done) 2>/dev/null
maestro report complete "tried everything"
try "kill another's supervisor" "kill -9 SUPERVISOR"
try "kill supervisors by name" "pkill -9 -f agent-run.OTHER"
`

// TestAgentCannotBecomeItsUser lets an agent try, confined as by default, what would make it its user. No way may work.
// Without confinement some do, so that each attempt is a real one.
func TestAgentCannotBecomeItsUser(t *testing.T) {
	layers := confine.Available(t.Context(), []string{mustLookPath(t, "maestro"), "agent-exec"})
	if len(layers) < 3 {
		t.Skipf("this kernel offers only %v: docs/security.md says what remains possible", layers)
	}
	for line := range strings.Lines(tried(t, "on")) {
		if !strings.HasSuffix(line, ": refused\n") {
			t.Errorf("confined: %s", line)
		}
	}
	open := tried(t, "off")
	for _, name := range []string{
		"read the token", "a link to the home", "another session's workspace", "its manifest", "the user's shell",
		"another file of the user", "a hook of its own repository", "another directory for its hooks",
		"a configuration in the place of git's", "a repository in the place of its own",
		"a program that the user's shell finds", "the user's terminal multiplexer", "a false program in PATH",
		"kill another's supervisor",
	} {
		if !strings.Contains(open, name+": WORKED") {
			t.Errorf("not confined, %q is refused too, so that it tries nothing: %s", name, open)
		}
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

// tried runs the agent, and returns what it tried.
func tried(t *testing.T, confined string) string {
	t.Helper()
	user := t.TempDir()
	t.Setenv("HOME", user)
	h := newAgents(t, scripted, "--confine", confined)
	outside := filepath.Join(user, "outside")
	if err := os.MkdirAll(filepath.Join(outside, ".git", "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	repository(t, h.target)
	multiplexers := []string{filepath.Join(user, "multiplexer.sock"), filepath.Join(user, "tmux.sock")}
	multiplex(t, h.target, multiplexers[0], multiplexers[1])
	other := h.spawn(nil)
	h.until("the other agent reports", func() bool { return h.steps(other)["step 3"] > 0 })
	task, _ := h.made(h.admin(), "task:create", map[string]any{"project": h.project, "title": "Not its own"})
	address, err := url.Parse(h.address)
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer(
		"HOME_OF_MAESTRO", h.home, "TARGET", h.target, "ADDRESS", address.String(), "WORKSPACES", h.workspaces,
		"OTHER_SOCKET", filepath.Join(h.workspaces, ".run", other, "agent.sock"), "OTHER", other,
		"TASK", fmt.Sprint(task["taskId"]), "OUTSIDE", outside, "SUPERVISOR", fmt.Sprint(h.supervisor(other)),
		"REAL_TMUX", multiplexers[1], "TMUX", multiplexers[0],
	).Replace(becomes)
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
	// Its own /tmp may have a directory with the same name.
	program := "refused"
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "maestro-of-an-agent"); isFile(path) {
			program = "WORKED: " + path
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	}
	// Without confinement, it ends its own supervisor with the others.
	if n := strings.Count(string(content), "\n"); confined == "on" && n != strings.Count(becomes, "\ntry ") {
		t.Errorf("it tried only %d ways: %s", n, content)
	}
	return string(content) + "a false program in PATH: " + program + "\n"
}

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
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
try "another file of the user" "echo x >OUTSIDE/file"
try "the maestro program" "echo x >\"\$(command -v maestro)\""
try "cron" "echo '* * * * * id' | crontab -"
try "at" "echo id | at now"
try "the configuration of agents" "echo '{}' >HOME_OF_MAESTRO/agents.json"
try "a server of its own on the home" "timeout 5 $clean maestro serve --listen 127.0.0.1:0"
try "the user's terminal multiplexer" "tmux -S TMUX list-sessions"
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
		"another file of the user", "kill another's supervisor",
	} {
		if !strings.Contains(open, name+": WORKED") {
			t.Errorf("not confined, %q is refused too, so that it tries nothing: %s", name, open)
		}
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
		"TMUX", filepath.Join(user, "tmux.sock"),
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
	// Without confinement, it ends its own supervisor with the others.
	if n := strings.Count(string(content), "\n"); confined == "on" && n != strings.Count(becomes, "\ntry ") {
		t.Errorf("it tried only %d ways: %s", n, content)
	}
	return string(content)
}

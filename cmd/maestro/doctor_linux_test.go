package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"maestro/internal/home"
	"maestro/workers/confine"
)

// TestDoctorConfinesAgents lets doctor ask a program for its version that an agent has replaced: it may not act as the
// user.
func TestDoctorConfinesAgents(t *testing.T) {
	maestro := mustLookPath(t, "maestro")
	layers := confine.Available(t.Context(), []string{maestro, "agent-exec"})
	if len(layers) < 3 {
		t.Skipf("this kernel offers only %v: docs/security.md says what remains possible", layers)
	}
	dir := t.TempDir()
	owned, user := filepath.Join(dir, "owned"), filepath.Join(dir, "user")
	h, err := home.Create(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	replaced := fmt.Sprintf("#!/bin/sh\ncat %s && touch %s/read\ntouch %s/wrote\necho 99.0.0\n",
		filepath.Join(h.Dir(), "admin.token"), owned, owned)
	config := fmt.Sprintf(`{"agents": {"claude": {"path": %q, "env": {"ANTHROPIC_API_KEY": "k"}}}}`,
		filepath.Join(dir, "claude"))
	for _, made := range []string{owned, user} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []struct {
		name, content string
		mode          os.FileMode
	}{
		{filepath.Join(dir, "claude"), replaced, 0o700},
		{filepath.Join(h.Dir(), "admin.token"), "secret", 0o600},
		{filepath.Join(h.Dir(), "agents.json"), config, 0o600},
	} {
		if err := os.WriteFile(f.name, []byte(f.content), f.mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), maestro, "doctor", "--all")
	temp := t.TempDir()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + user, "MAESTRO_HOME=" + h.Dir(), "TMPDIR=" + temp,
	}
	said, _ := cmd.Output() // there is no server, so it fails
	if !bytes.Contains(said, []byte("[agent-ready]")) {
		t.Errorf("doctor does not find the agent ready:\n%s", said)
	}
	for what, dir := range map[string]string{"the program reached": owned, "doctor left": temp} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s %v, %v", what, left, err)
		}
	}
}

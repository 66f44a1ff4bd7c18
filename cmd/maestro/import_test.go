package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"maestro/api/client"
	"maestro/internal/cli"
)

// An import that is killed with -9 in the middle leaves no home that a server would take for one, and a second import
// of the same file cleans up and makes the whole home.
func TestKilledImport(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home"), acked: map[string]client.Answer{}}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	admin := k.admin()
	made, _ := k.made(admin, "project:create", map[string]any{"name": "Shop"})
	for n := range 8 {
		k.made(admin, "task:create", map[string]any{
			"project": made["projectId"], "title": "Long", "description": strings.Repeat(fmt.Sprint(n), 500<<10),
		})
	}
	stream, err := admin.Export(t.Context(), client.Exported{Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	head, err := admin.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new")
	half := exec.Command(binary, "import", "-", "--home", to)
	half.Env = []string{"HOME=" + t.TempDir()}
	in, err := half.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := half.Start(); err != nil {
		t.Fatal(err)
	}
	// A write returns once nearly all of it was read: by then, most texts are in the store.
	if _, err := in.Write(text[:len(text)-100<<10]); err != nil {
		t.Fatal(err)
	}
	if err := half.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = half.Wait()
	if begun, err := os.ReadDir(to); err != nil || len(begun) == 0 {
		t.Fatalf("nothing was begun: %v", err)
	}
	if _, err := os.Stat(filepath.Join(to, "store", "jetstream")); err == nil {
		t.Fatal("the unfinished store is in its place")
	}
	file := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got := runHere(t, nil, "import", file, "--home", to)
	if got.code != cli.ExitDone || !strings.Contains(got.stderr, "left by a restore that was killed") ||
		!strings.Contains(got.stdout, head.String()) {
		t.Fatalf("%+v", got)
	}
	if left, err := filepath.Glob(filepath.Join(to, ".*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(to, "store", "jetstream")); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(text, []byte(`"texts":8`)) {
		t.Error("the export has no texts")
	}
}

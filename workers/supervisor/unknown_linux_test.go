package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/home"
	"maestro/workers/confine"
	"maestro/workers/preflight"
)

// What is known of a run but cannot be read means that it began, and what could not be read is not saved.
func TestStateThatCannotBeRead(t *testing.T) {
	h, err := home.Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	s := &supervisor{Config: Config{SessionID: "sess_1", Run: 1}, home: h}
	if err := s.hasRun(); err != nil {
		t.Errorf("without a state: %v", err)
	}
	if s.files, err = h.TakeRun("sess_1"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.files.Close() }()
	var large *home.RunTooLargeError
	if err := s.files.Save(make([]byte, home.MaxRun+1)); !errors.As(err, &large) {
		t.Errorf("too large: %v", err)
	}
	if err := s.files.Save([]byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := s.hasRun(); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), h.RunPath("sess_1")) {
		t.Errorf("without JSON: %v", err)
	}
	if err := s.files.Save([]byte(`{"run":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.hasRun(); !errors.Is(err, ErrRan) {
		t.Errorf("with its state: %v", err)
	}
}

// More repositories than the state of a run has room for are a question before the launch.
func TestRepositoriesFitTheState(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	target := t.TempDir()
	below := target
	for range 3 {
		below = filepath.Join(below, strings.Repeat("<", 250)) // in JSON, each is six bytes
	}
	for i := range 120 {
		bareIn(t, filepath.Join(below, fmt.Sprint(i)))
	}
	s := &supervisor{
		Console: silence{},
		command: serves,
		layers:  []confine.Layer{confine.Namespaces},
	}
	s.dirs.Target = target
	var failed *preflight.Failure
	err := s.checkGit(t.Context())
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "bytes to describe its 120 repositories") {
		t.Errorf("%v", err)
	}
	if err := s.holdTarget(nil); err != nil {
		t.Error(err)
	}
	// Of a HEAD, the first line is kept.
	dir := filepath.Join(t.TempDir(), "r.git")
	bareIn(t, dir)
	long := "ref: refs/heads/main\n" + strings.Repeat("x", mostConfig)
	if err := os.WriteFile(filepath.Join(dir, gitHead), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := repositoriesIn(t, filepath.Dir(dir)); len(all) != 1 || all[0].Head != "ref: refs/heads/main\n" {
		t.Errorf("described %+v", all)
	}
}

package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/internal/cli"
)

// A server does not put an empty log in the place of one that is gone, even if nothing says how long it was. The home
// is read-only until a salvage creates a new one.
func TestNoEmptyLogInAUsedHome(t *testing.T) {
	dir := used(t)
	err := errors.Join(forgetIfThere(dir), os.RemoveAll(filepath.Join(dir, "store", "jetstream", "$G", "streams",
		bus.StreamName)))
	if err != nil {
		t.Fatal(err)
	}
	s := &inside{t: t, home: dir}
	for _, how := range []string{"--backup-every=off", "--read-only", "--backup-every=off"} {
		s.start(how)
		if how == "--read-only" {
			if _, err := s.out.ReadString('\n'); err != nil { // how commands find it
				t.Fatal(err)
			}
		}
		status, body := s.ready()
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "the log is gone") ||
			!strings.Contains(body, "maestro salvage") {
			t.Errorf("%s: readyz says %d %s", how, status, body)
		}
		s.stop()
	}
	to := filepath.Join(t.TempDir(), "new")
	if got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to); got.code != cli.ExitPartial {
		t.Errorf("the salvage says %+v", got)
	}
	again := &inside{t: t, home: to}
	again.start("--backup-every=off")
	again.do("project:create", map[string]any{"name": "P"})
	again.stop()
}

// A home in which commands kept something before its first start is new.
func TestHomeWithAnOutboxIsNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(dir, "outbox", "session"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &inside{t: t, home: dir}
	s.start("--backup-every=off")
	s.do("project:create", map[string]any{"name": "P"})
	s.stop()
}

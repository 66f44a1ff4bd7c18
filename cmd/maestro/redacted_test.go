package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"maestro/bus"
	"maestro/events"
)

// A redaction was recorded, and its server was killed before it erased the text: the next start erases it, and the
// file that is a copy of it, before it listens. Other copies stay. A salvage of that home does not have the text
// either.
func TestStartErasesRedactedTexts(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	project, _ := s.do("project:create", map[string]any{"name": "P"})
	spawn := func() (path, digest string) {
		task, _ := s.do("task:create", map[string]any{"project": project["projectId"], "title": "T"})
		session, _ := s.do("session:spawn", map[string]any{
			"project": project["projectId"], "taskIds": []any{task["taskId"]},
		})
		return filepath.Join(s.home, "sessions", session["sessionId"].(string), "manifest.json"),
			session["manifestDigest"].(string)
	}
	path, digest := spawn()
	other, _ := spawn()
	manifest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.do("audit:redact", map[string]any{"text": digest, "reason": "It held a password"})
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the redaction, the file: %v", err)
	}
	s.stop()
	inStoreOf(t, s.home, func(store *bus.Bus) { // as if it had been killed before
		if put, err := store.PutBlob(t.Context(), manifest); err != nil || put != digest {
			t.Fatalf("put back %s, %v", put, err)
		}
	})
	if err := os.WriteFile(path, manifest, 0o600); err != nil {
		t.Fatal(err)
	}

	salvaged := filepath.Join(t.TempDir(), "salvaged")
	var said bytes.Buffer
	args := []string{"salvage", s.home, "--new-home", salvaged}
	if code := run(t.Context(), args, nil, nil, &said, &said); code != 0 {
		t.Fatalf("salvage ends with %d: %s", code, &said)
	}
	gone := func(store *bus.Bus) {
		if _, err := store.Blob(t.Context(), digest); !errors.Is(err, events.ErrNoBlob) {
			t.Errorf("the text: %v", err)
		}
	}
	inStoreOf(t, salvaged, gone)

	s.start("--backup-every", "off")
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the start, the file: %v", err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("another session's file: %v", err)
	}
	s.stop()
	inStoreOf(t, s.home, gone)
}

// inStoreOf opens the store of a home in which no server runs.
func inStoreOf(t *testing.T, home string, look func(store *bus.Bus)) {
	t.Helper()
	store, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(home, "store")})
	if err != nil {
		t.Fatal(err)
	}
	look(store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

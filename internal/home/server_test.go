package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A home shows whether its server listens, is starting, was killed or has stopped.
func TestListening(t *testing.T) {
	h, err := Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	look := func(when string, wantRunning, wantListening bool) {
		t.Helper()
		server, running, err := h.Listening()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if running != wantRunning || (err == nil) != wantListening {
			t.Errorf("%s: %+v, running %t, %v", when, server, running, err)
		}
	}
	look("before the first start", false, false)
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	look("while it starts", true, false)
	if err := lock.Announce(Server{Address: "http://127.0.0.1:1", PID: os.Getpid() + 1}); err != nil {
		t.Fatal(err)
	}
	look("while it starts after another was killed", true, false)
	if err := lock.Announce(Server{Address: "http://127.0.0.1:1", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	look("when it listens", true, true)
	if err := os.Truncate(filepath.Join(h.dir, lockFile), 0); err != nil {
		t.Fatal(err)
	}
	look("while the next one begins", true, false)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	look("when it was killed", false, true)
	if err := lock.Withdraw(); err != nil {
		t.Fatal(err)
	}
	look("when it has stopped", false, false)
}

// The last address is kept, is written only when it changes, and is not part of a copy of the home.
func TestListened(t *testing.T) {
	h, err := Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	path := filepath.Join(h.dir, listenedFile)
	var before os.FileInfo
	for _, address := range []string{"127.0.0.1:4000", "127.0.0.1:4000", "127.0.0.1:5000"} {
		if err := lock.NoteListened(address); err != nil || h.Listened() != address {
			t.Fatalf("%q: %v", h.Listened(), err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && os.SameFile(before, info) != (address == "127.0.0.1:4000") {
			t.Errorf("%s: the file was written without a change, or not written after one", address)
		}
		before = info
	}
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := h.CopyRest(elsewhere); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, listenedFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy has the address: %v", err)
	}
	if err := os.Remove(path); err != nil || h.Listened() != "" {
		t.Errorf("without the file: %q, %v", h.Listened(), err)
	}
}

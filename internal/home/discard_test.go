//go:build unix

package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// whileWaiting does something while a Lock waits for the first time.
func whileWaiting(t *testing.T, do func()) {
	waits := 0
	pause = func(time.Duration) {
		if waits++; waits == 1 {
			do()
		}
	}
	t.Cleanup(func() { pause = time.Sleep })
}

// A process that waits for a home does not hold it if it is discarded meanwhile: another process may recreate it.
func TestDiscardedHome(t *testing.T) {
	h := made(t)
	lock := locked(t, h)
	waiting, err := Open(h.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = waiting.Close() })
	whileWaiting(t, func() {
		if err := lock.Discard(); err != nil {
			t.Errorf("discard: %v", err)
		}
	})
	if _, err := waiting.Lock(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the process holds a home that is gone: %v", err)
	}
	again, err := Create(h.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	_ = locked(t, again)
}

// If a lock file was replaced, the lock is on the file that is there now: only one process gets it.
func TestReplacedLockFile(t *testing.T) {
	h := made(t)
	lock := locked(t, h)
	other, err := Open(h.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	whileWaiting(t, func() {
		if err := errors.Join(os.Remove(filepath.Join(h.Dir(), lockFile)), lock.Release()); err != nil {
			t.Error(err)
		}
	})
	_ = locked(t, other)
	var held *HeldError
	if second, err := h.Lock(); !errors.As(err, &held) {
		t.Errorf("two processes hold the home: %v, %v", second, err)
	}
	if reading, err := h.LockForReading(); !errors.As(err, &held) {
		t.Errorf("the home is read while it is held: %v, %v", reading, err)
	}
}

// If a file loses its name between open and lock, the lock is taken again, on the file that has the name.
func TestUnlinkedLockFile(t *testing.T) {
	h := made(t)
	_ = locked(t, h).Release()
	opened := 0
	open := func(root *disk.Root, name string, flag int) (*os.File, error) {
		f, err := root.OpenFile(name, flag|os.O_CREATE, 0o600)
		if opened++; opened == 1 {
			err = errors.Join(err, root.Remove(name))
		}
		return f, err
	}
	f, err := h.lock(open, os.O_RDWR, files.Lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if named, err := h.isLock(f); err != nil || !named || opened != 2 {
		t.Errorf("after %d tries: %v, %v", opened, named, err)
	}
}

// A home that another process has taken meanwhile stays, and its contents are no error for the process that discards
// it.
func TestDiscardedHomeTakenByAnother(t *testing.T) {
	h := made(t)
	lock := locked(t, h)
	// The first steps of Discard.
	if err := errors.Join(os.Remove(filepath.Join(h.Dir(), lockFile)), lock.held.Close()); err != nil {
		t.Fatal(err)
	}
	other, err := Open(h.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	_ = locked(t, other)
	if err := lock.Discard(); err != nil {
		t.Errorf("got %v", err)
	}
	if !other.Running() {
		t.Error("the home is no longer held")
	}
}

// A home whose lock file was deleted is still held by its server and by its readers.
func TestHomeWithoutLockFileIsHeld(t *testing.T) {
	h := made(t)
	pause = func(time.Duration) {}
	t.Cleanup(func() { pause = time.Sleep })
	lock := locked(t, h)
	if err := lock.Announce(Server{Address: "http://127.0.0.1:3000", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	deleted := func() {
		if err := os.Remove(filepath.Join(h.Dir(), lockFile)); err != nil {
			t.Fatal(err)
		}
	}
	deleted()
	var held *HeldError
	if _, err := h.LockForReading(); !errors.As(err, &held) || held.PID != os.Getpid() || held.Read {
		t.Errorf("the home can be read: %v", err)
	}
	if !h.Running() || h.BeingRead() {
		t.Error("no server runs there, or one that only reads")
	}
	if _, err := h.Lock(); !errors.As(err, &held) || held.Address != "http://127.0.0.1:3000" || held.Read {
		t.Errorf("another server gets the home: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	reading, err := Open(h.Dir())
	if err != nil {
		t.Fatal(err)
	}
	first, err := reading.LockForReading()
	if err != nil {
		t.Fatal(err)
	}
	deleted()
	second, err := h.LockForReading()
	if err != nil {
		t.Fatalf("another reader: %v", err)
	}
	if _, err := h.Lock(); !errors.As(err, &held) || !held.Read {
		t.Errorf("a server gets a home that others read: %v", err)
	}
	if !h.BeingRead() {
		t.Error("nobody reads it")
	}
	if err := errors.Join(second.held.Close(), first.Release()); err != nil {
		t.Error(err)
	}
	if h.Running() || h.BeingRead() {
		t.Error("the home counts as held, although no process holds it")
	}
}

//go:build unix

package service

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"maestro/internal/disk"
)

// homeAt creates a directory for outboxes.
func homeAt(t *testing.T, dir string) *disk.Root {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := disk.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// A session's process that damages its outbox does not delay other sessions noticeably, and does not fill the server's
// log.
func TestOutboxesDoNotDelayEachOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	h := homeAt(t, dir)
	for _, session := range []string{"held", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, "outbox", session), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	entry := "held/000000000001-" + strings.Repeat("0", 64) + ".json"
	for _, name := range []string{"held/deliver.lock", entry, "file"} {
		if err := os.WriteFile(filepath.Join(dir, "outbox", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(dir, "outbox", "held", "deliver.lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorld(t)
		w.Logger = slog.New(slog.NewTextHandler(&log, nil))
		d := w.Deliver(h)
		var took []time.Duration
		for range 3 {
			began := time.Now() // of the bubble's clock
			d.all(context.Background())
			took = append(took, time.Since(began))
		}
		if slices.Max(took) > 2*busyPatience {
			t.Errorf("the checks waited %s", took)
		}
		for _, want := range []string{"an outbox cannot be opened", "cannot all be counted"} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("the log has %d times %q:\n%s", n, want, &log)
			}
		}
	})
	if _, err := os.Lstat(filepath.Join(dir, "outbox", "empty")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty outbox still exists: %v", err)
	}
}

package bus

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
)

// If writing a head fails after it has reached the file, the head is recognised as our own, and no older head replaces
// it.
func TestHeadOfFailedWriteIsRecognised(t *testing.T) {
	path := filepath.Join(t.TempDir(), "head")
	h := &HeadFile{
		path:   path,
		firm:   func() error { return nil },
		logger: testLogger(t),
		wake:   make(chan struct{}, 1),
	}
	h.newest = events.Head{Sequence: 7}
	h.flush()
	h.newest = events.Head{Sequence: 8}
	restore := disk.Inject(func(operation, on string) error {
		if operation == "sync" && on == filepath.Dir(path) {
			return syscall.EIO
		}
		return nil
	})
	h.flush()
	restore()
	if !errors.Is(h.Failed(), syscall.EIO) {
		t.Fatalf("the write did not fail: %v", h.Failed())
	}
	h.look()
	head, err := LoadHeadFile(path)
	if must(t, err); head.Sequence != 8 {
		t.Errorf("the head file holds %d", head.Sequence)
	}
	if _, err := os.Lstat(path + DamagedSuffix); err == nil {
		t.Error("the head file was set aside")
	}
	if h.flush(); h.Failed() != nil || h.written.Sequence != 8 {
		t.Errorf("afterwards the head file is at %d: %v", h.written.Sequence, h.Failed())
	}
}

// A head file that cannot be read at the moment stays where it is. A changed one keeps its name until its replacement
// is durable.
func TestHeadFileIsReplacedDurably(t *testing.T) {
	holds := events.Head{Sequence: 7}
	begin := func(t *testing.T) (*HeadFile, string) {
		path := filepath.Join(t.TempDir(), "head")
		h := &HeadFile{
			path:   path,
			firm:   func() error { return nil },
			logger: testLogger(t),
			holds:  holds,
		}
		must(t, h.write(holds))
		content, err := os.ReadFile(path)
		must(t, err)
		return h, string(content)
	}
	for _, why := range []error{syscall.EMFILE, syscall.EIO, syscall.ESTALE} {
		for _, failing := range []string{"open", "stat"} {
			h, before := begin(t)
			restore := disk.Inject(func(operation, path string) error {
				if operation == failing && path == h.path {
					return why
				}
				return nil
			})
			h.look()
			restore()
			content, err := os.ReadFile(h.path)
			if err != nil || string(content) != before || !errors.Is(h.Failed(), why) {
				t.Errorf("%v at %s: %q, %v; it reports %v", why, failing, content, err, h.Failed())
			}
			if _, err := os.Lstat(h.path + DamagedSuffix); err == nil {
				t.Errorf("%v at %s: the head file was set aside", why, failing)
			}
			if h.look(); h.Failed() != nil {
				t.Errorf("afterwards: %v", h.Failed())
			}
		}
	}
	for step := 1; ; step++ {
		h, before := begin(t)
		must(t, os.WriteFile(h.path, []byte("other"), 0o600))
		done := 0
		restore := disk.Inject(func(_, path string) error {
			if filepath.Dir(path) != filepath.Dir(h.path) {
				return nil
			}
			if done++; done == step {
				return syscall.ENOSPC
			}
			return nil
		})
		h.look()
		restore()
		content, err := os.ReadFile(h.path)
		if err != nil || string(content) != "other" && string(content) != before {
			t.Errorf("step %d: %q, %v", step, content, err)
		}
		h.look()
		content, err = os.ReadFile(h.path)
		if err != nil || string(content) != before || h.Failed() != nil {
			t.Errorf("step %d, afterwards: %q, %v, %v", step, content, err, h.Failed())
		}
		if aside, err := os.ReadFile(h.path + DamagedSuffix); err != nil || string(aside) != "other" {
			t.Errorf("step %d: the file set aside is %q, %v", step, aside, err)
		}
		if done < step {
			return
		}
	}
}

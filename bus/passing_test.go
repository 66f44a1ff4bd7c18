package bus

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
)

// A text that cannot be read while its stream is recreated is not reported as lost.
func TestUnreadableTextIsRetried(t *testing.T) {
	dir, _, _, _ := filledStore(t)
	aside := filepath.Join(t.TempDir(), "aside")
	copyStore(t, dir, aside)
	b := mustOpen(t, t.TempDir(), Always)
	for _, nth := range []int{0, 1} {
		opened := 0
		restore := disk.Inject(func(operation, path string) error {
			if operation != "open" || !strings.HasPrefix(path, streamPath(aside, BlobStream)) {
				return nil
			}
			if opened++; opened > 1 && nth == 1 { // the scan opens it first
				return syscall.EIO
			}
			return nil
		})
		err := b.rebuildSide(t.Context(), BlobStream, aside)
		restore()
		var unread *unreadAsideError
		if errors.As(err, &unread) != (nth == 1) {
			t.Errorf("%d: %v", nth, err)
		}
	}
}

// A reopen continues after a temporary error, and takes nothing for damaged.
func TestReopenContinuesAfterTemporaryError(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	for _, why := range []error{syscall.EMFILE, syscall.EACCES, syscall.EIO} {
		image := storeCopy(t, dir)
		b := openWitnessed(t, image, Always, uint64(len(log)))
		failed := 0
		restore := disk.Inject(func(operation, path string) error {
			if operation == "read" && strings.HasPrefix(path, image) && failed < readTries-1 ||
				operation == "open" && strings.HasSuffix(path, ".blk") && strings.HasPrefix(path, image) && failed < 2 {
				failed++
				return why
			}
			return nil
		})
		b.doubtful.Store(true)
		_, _ = b.Sync(t.Context())
		restore()
		b.mender.done.Wait()
		must(t, b.Ready())
		holdsAll(t, b, len(log), len(blobs), len(denials))
	}
}

// The same applies if every attempt of a reopen fails: the next reopen has everything.
func TestFailedReopenIsRetried(t *testing.T) {
	s := newSmallStore(t)
	for _, why := range failures {
		image := storeCopy(t, s.dir)
		b := openWitnessed(t, image, Always, uint64(len(s.log)))
		restore := disk.Inject(func(operation, path string) error {
			if operation == "readdir" && filepath.Base(path) == "msgs" {
				return why
			}
			return nil
		})
		_, err := b.reopen(t.Context())
		restore()
		if err == nil || errors.Is(err, events.ErrReadOnly) || b.Damage() != nil {
			t.Errorf("%v: %v, %v", why, err, b.Damage())
		}
		if _, err := b.reopen(t.Context()); err != nil {
			t.Errorf("%v: the next attempt: %v", why, err)
		}
		s.has(t, b)
	}
}

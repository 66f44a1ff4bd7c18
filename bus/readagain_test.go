package bus

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/testing/race"
)

// writesTo returns a write to each stream of a store whose log ends at head.
func writesTo(t *testing.T, b *Bus, head uint64) map[string]func() error {
	t.Helper()
	return map[string]func() error{
		StreamName: func() error {
			next := events.Message{Subject: "maestro.ev.p.task.1", Body: []byte("next")}
			return b.Append(t.Context(), head, []events.Message{next})
		},
		BlobStream: func() error {
			_, err := b.PutBlob(t.Context(), []byte("a text that is kept nowhere yet"))
			return err
		},
		DeniedStream: func() error { return b.StoreDenials(t.Context(), refusalIn("a")) },
	}
}

// TestUnreadablePartStopsWrites: if a reader, the daily check, or the check every second cannot read a
// block, nothing is written to any stream until it can be read.
func TestUnreadablePartStopsWrites(t *testing.T) {
	race.Without(t)
	s := newSmallStore(t)
	meets := map[string]map[string]func(*Bus) error{
		StreamName: {
			"a reader": func(b *Bus) error {
				return b.Read(t.Context(), 1, 1, func(events.Message) error { return nil })
			},
			"the look every second": (*Bus).Here,
		},
		BlobStream: {
			"a reader": func(b *Bus) error {
				for digest := range s.blobs {
					if _, err := b.Blob(t.Context(), digest); err != nil {
						return err
					}
				}
				return nil
			},
			"a request for the size": func(b *Bus) error {
				for digest := range s.blobs {
					if _, err := b.BlobSize(t.Context(), digest); err != nil {
						return err
					}
				}
				return nil
			},
			"the look every second": (*Bus).Here,
		},
		DeniedStream: {"the look every second": (*Bus).Here},
	}
	for stream, ways := range meets {
		for way, meet := range ways {
			image := storeCopy(t, s.dir)
			b := openWitnessed(t, image, Always, uint64(len(s.log)))
			block := filepath.Join(streamPath("", stream), "msgs", "1.blk")
			restore := failsAt("read", block, syscall.EIO)
			err := meet(b)
			if way != "the look every second" && !errors.Is(err, events.ErrUnreadable) {
				t.Errorf("%s, %s: %v", stream, way, err)
			}
			if err := b.Ready(); !errors.Is(err, events.ErrUnreadable) || !strings.Contains(err.Error(), block) {
				t.Errorf("%s, %s: ready: %v", stream, way, err)
			}
			writes := writesTo(t, b, uint64(len(s.log)))
			for to, write := range writes {
				if err := write(); !errors.Is(err, events.ErrUnreadable) || errors.Is(err, events.ErrReadOnly) {
					t.Errorf("%s, %s: a write to %s: %v", stream, way, to, err)
				}
			}
			if _, err := b.Sync(t.Context()); !errors.Is(err, events.ErrUnreadable) {
				t.Errorf("%s, %s: sync: %v", stream, way, err)
			}
			restore()
			b.mender.done.Wait()
			must(t, b.Ready(), b.Damage())
			for to, write := range writes {
				if err := write(); err != nil {
					t.Errorf("%s, %s: a write to %s, once it can be read: %v", stream, way, to, err)
				}
			}
		}
	}
}

// Too many open files are no reason to stop writing.
func TestTooManyOpenFilesDoNotStopWrites(t *testing.T) {
	s := newSmallStore(t)
	b := openWitnessed(t, storeCopy(t, s.dir), Always, uint64(len(s.log)))
	restore := failsAt("open", "1.blk", syscall.EMFILE)
	err := b.Read(t.Context(), 1, 1, func(events.Message) error { return nil })
	restore()
	if !errors.Is(err, events.ErrUnreadable) {
		t.Errorf("the read: %v", err)
	}
	must(t, b.Ready())
	for _, write := range writesTo(t, b, uint64(len(s.log))) {
		must(t, write())
	}
}

// A text is acknowledged only if it is found in its block, whichever check of the blocks fails first.
func TestUnverifiedTextIsNotAcknowledged(t *testing.T) {
	s := newSmallStore(t)
	b := openWitnessed(t, storeCopy(t, s.dir), Always, uint64(len(s.log)))
	for first := 1; ; first++ {
		looks := 0
		restore := disk.Inject(func(operation, path string) error {
			if operation == "readdir" && strings.Contains(path, BlobStream) {
				looks++
			}
			if looks >= first {
				return syscall.EIO
			}
			return nil
		})
		_, err := b.PutBlob(t.Context(), fmt.Appendf(nil, "text %d", first))
		restore()
		if looks < first {
			must(t, err)
			break
		}
		if !errors.Is(err, events.ErrUnreadable) {
			t.Errorf("check %d failed, and the text was acknowledged: %v", first, err)
		}
		b.mender.done.Wait()
		kept, err := b.Blobs(t.Context())
		if must(t, err); first == 1 && len(kept) != len(s.blobs) {
			t.Error("a text was written although the blocks could not be checked")
		}
	}
}

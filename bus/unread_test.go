package bus

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"maestro/events"
	"maestro/internal/disk"
)

// once ticks once.
func once() <-chan time.Time {
	tick := make(chan time.Time, 1)
	tick <- time.Time{}
	return tick
}

// failsAt makes every operation of a kind on a path fail until restore is called.
func failsAt(operation, path string, why error) (restore func()) {
	return disk.Inject(func(did, on string) error {
		if did == operation && strings.HasSuffix(on, path) {
			return why
		}
		return nil
	})
}

// unreads are the reads without which a store cannot be checked.
func unreads() map[string]string {
	places := map[string]string{}
	for _, stored := range storedStreams {
		messages := filepath.Join(streamPath("", stored.name), "msgs")
		places[filepath.Join(messages, "1.blk")] = "read"
		places[messages] = "readdir"
	}
	return places
}

// namesUnread checks the error about a file that cannot be read: it names the file and the reason, and does not mention
// salvage.
func namesUnread(t *testing.T, err error, path string, why error) {
	t.Helper()
	var unread *UnreadError
	if !errors.As(err, &unread) || !errors.Is(err, why) || !strings.HasSuffix(unread.Path, path) {
		t.Fatalf("%s, %v: %v", path, why, err)
	}
	for _, said := range []string{unread.Advice(), err.Error()} {
		if strings.Contains(said, "salvage") || strings.Contains(said, "damaged") {
			t.Errorf("%s, %v: the error says %q", path, why, said)
		}
	}
	if said := err.Error(); !strings.Contains(said, path) || strings.Contains(said, "/proc/self/fd") ||
		!strings.Contains(unread.Advice(), "by itself") {
		t.Errorf("%s, %v: the error says %q, %q", path, why, said, unread.Advice())
	}
}

// If every read of a block fails during a reopen, the error names the block at each attempt; once reads succeed,
// everything is there.
func TestUnreadableBlockAtReopenIsNotDamage(t *testing.T) {
	s := newSmallStore(t)
	for path, operation := range unreads() {
		for _, why := range failures {
			image := storeCopy(t, s.dir)
			b := openWitnessed(t, image, Always, uint64(len(s.log)))
			restore := failsAt(operation, path, why)
			for range 12 {
				_, err := b.reopen(t.Context())
				if errors.Is(err, events.ErrReadOnly) || b.Damage() != nil {
					t.Fatalf("%s, %v: %v, %v", path, why, err, b.Damage())
				}
				namesUnread(t, err, path, why)
			}
			restore()
			_, err := b.Sync(t.Context())
			must(t, err)
			s.has(t, b)
			must(t, b.Close())
			if aside := setAsides(t, image); len(aside) > 0 {
				t.Errorf("%s, %v: set aside: %v", path, why, aside)
			}
		}
	}
}

// The same applies to a start: the store is served read-only and unchanged until it can be read and reopened.
func TestUnreadableBlockAtStartIsNotDamage(t *testing.T) {
	s := newSmallStore(t)
	for path, operation := range unreads() {
		for _, why := range failures {
			image := storeCopy(t, s.dir)
			restore := failsAt(operation, path, why)
			b, err := Open(t.Context(), s.options(t, image))
			must(t, err)
			if !errors.Is(b.Damage(), events.ErrReadOnly) {
				t.Fatalf("%s, %v: the store is not read-only: %v", path, why, b.Damage())
			}
			namesUnread(t, b.Damage(), path, why)
			if err := b.Append(t.Context(), uint64(len(s.log)), s.log[:1]); !errors.Is(err, events.ErrReadOnly) {
				t.Errorf("%s, %v: an append: %v", path, why, err)
			}
			err = b.Read(t.Context(), 1, uint64(len(s.log)), func(events.Message) error { return nil })
			if damage := (*events.DamageError)(nil); errors.As(err, &damage) {
				t.Errorf("%s, %v: a read: %v", path, why, err)
			}
			ended, end := context.WithCancel(t.Context())
			ticks := make(chan time.Time)
			go func() {
				for range 3 {
					ticks <- time.Time{}
				}
				end()
			}()
			if err := b.AwaitReadable(ended, ticks); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v: the wait for it returned %v", path, why, err)
			}
			restore()
			must(t, b.AwaitReadable(t.Context(), once()), b.Close())
			for _, stored := range storedStreams {
				block := filepath.Join(streamPath("", stored.name), "msgs", "1.blk")
				was, err := os.ReadFile(filepath.Join(s.dir, block))
				now, nowErr := os.ReadFile(filepath.Join(image, block))
				if must(t, err, nowErr); !bytes.Equal(was, now) {
					t.Errorf("%s, %v: %s changed", path, why, block)
				}
			}
			if aside := setAsides(t, image); len(aside) > 0 {
				t.Errorf("%s, %v: set aside: %v", path, why, aside)
			}
			b, err = Open(t.Context(), s.options(t, image))
			must(t, err)
			s.has(t, b)
			must(t, b.Close())
		}
	}
}

// A text that cannot be read while the server runs is not damage, nor is such a block in the daily check.
func TestFailedReadsWhileRunningAreNotDamage(t *testing.T) {
	s := newSmallStore(t)
	image := storeCopy(t, s.dir)
	b := openWitnessed(t, image, Always, uint64(len(s.log)))
	for _, stored := range storedStreams {
		restore := failsAt("read", filepath.Join(streamPath("", stored.name), "msgs", "1.blk"), syscall.EIO)
		err := b.recheck(t.Context(), checkedNote{}, time.Now, func() error { return nil })
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: the daily check: %v", stored.name, err)
		}
		if stored.name == BlobStream {
			for digest := range s.blobs {
				if _, err := b.Blob(t.Context(), digest); !errors.Is(err, syscall.EIO) {
					t.Errorf("a text: %v", err)
				}
			}
		}
		if stored.name == StreamName {
			err := b.Read(t.Context(), 1, uint64(len(s.log)), func(events.Message) error { return nil })
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("the log: %v", err)
			}
		}
		must(t, b.Here())
		if err := b.Ready(); !errors.Is(err, syscall.EIO) {
			t.Errorf("ready: %v", err)
		}
		restore()
		b.mender.done.Wait()
		must(t, b.Damage(), b.Ready())
	}
	s.has(t, b)
}

// The same applies to a text whose place is known, wherever two series of failing reads begin: it is searched for
// twice.
func TestUnreadableTextIsNotDamage(t *testing.T) {
	s := newSmallStore(t)
	image := storeCopy(t, s.dir)
	b := openWitnessed(t, image, Always, uint64(len(s.log)))
	digest, content := "", []byte(nil)
	for digest, content = range s.blobs {
		break
	}
	const most = 12
	for first := range most {
		for second := first + readTries; second < most; second++ {
			reads := 0
			restore := disk.Inject(func(operation, path string) error {
				if operation != "read" || !strings.HasSuffix(path, ".blk") {
					return nil
				}
				n := reads
				reads++
				if first <= n && n < first+readTries || second <= n && n < second+readTries {
					return syscall.EIO
				}
				return nil
			})
			got, err := b.Blob(t.Context(), digest)
			restore()
			must(t, b.Damage())
			if errors.Is(err, events.ErrBadBlob) || err != nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("reads fail from %d and %d on: %v", first, second, err)
			}
			if err == nil && !bytes.Equal(got, content) {
				t.Errorf("reads fail from %d and %d on: the text has %d bytes", first, second, len(got))
			}
		}
	}
}

// A hole that a power cut left is judged by its surroundings: if these cannot be read at the moment, there is no
// verdict.
func TestHoleBesideUnreadablePartIsNotDamage(t *testing.T) {
	s := newSmallStore(t)
	image := storeCopy(t, s.dir)
	block := filepath.Join(streamPath(image, StreamName), "msgs", "1.blk")
	scanned, err := scanPlaces(t.Context(), image, StreamName, events.SubjectPrefix, nil)
	must(t, err)
	hole := scanned.places[len(scanned.places)-15] // in an append that is not the last
	content, err := os.ReadFile(block)
	must(t, err)
	clear(content[hole.offset : hole.offset+int64(hole.length)])
	must(t, os.WriteFile(block, content, 0o600))
	scanned, err = scanPlaces(t.Context(), image, StreamName, events.SubjectPrefix, nil)
	must(t, err)
	seen := witnesses{headFile: hole.sequence - 1, witnessed: hole.sequence - 1, durability: Interval}
	torn, err := scanned.judge(seen)
	if must(t, err); torn == nil {
		t.Fatal("the hole was not found")
	}
	restore := failsAt("read", block, syscall.EIO)
	defer restore()
	if _, err := scanned.judge(seen); !errors.Is(err, syscall.EIO) {
		t.Errorf("the verdict is %v", err)
	}
}

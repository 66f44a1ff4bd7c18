package bus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/files"
)

// large appends messages of 600 kB, so that the log gets several blocks.
func large(t *testing.T, b *Bus, head uint64, n int) uint64 {
	t.Helper()
	for range n {
		m := events.Message{Subject: events.Subject("p", "task", "large"), Body: []byte(strings.Repeat("x", 600_000))}
		if err := b.Append(t.Context(), head, []events.Message{m}); err != nil {
			t.Fatal(err)
		}
		head++
	}
	return head
}

// newest returns the path of the log's newest block.
func newest(t *testing.T, b *Bus) string {
	t.Helper()
	dir := b.embedded.messagesDir(StreamName)
	blocks, err := blockFiles(dir)
	if err != nil || len(blocks) == 0 {
		t.Fatal(blocks, err)
	}
	return filepath.Join(dir, blockName(blocks[len(blocks)-1]))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Any file that is moved away from a running server stops writes, is named, and makes the stop fail. nats-server itself
// would continue to write and acknowledge.
func TestFilesTakenFromARunningServer(t *testing.T) {
	t.Parallel()
	size := func(t *testing.T, path string) int64 {
		info, err := os.Stat(path)
		must(t, err)
		return info.Size()
	}
	replace := func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		must(t, err, os.Remove(path), os.WriteFile(path, content, 0o600))
	}
	for name, c := range map[string]struct {
		harm  func(t *testing.T, b *Bus)
		named string
	}{
		"the newest block deleted":  {func(t *testing.T, b *Bus) { must(t, os.Remove(newest(t, b))) }, "3.blk"},
		"the newest block replaced": {func(t *testing.T, b *Bus) { replace(t, newest(t, b)) }, "3.blk"},
		"the newest block emptied":  {func(t *testing.T, b *Bus) { must(t, os.Truncate(newest(t, b), 0)) }, "3.blk"},
		"the newest block cut": {func(t *testing.T, b *Bus) {
			must(t, os.Truncate(newest(t, b), size(t, newest(t, b))-10))
		}, "3.blk"},
		"the newest block cut, and events behind it": {func(t *testing.T, b *Bus) {
			must(t, os.Truncate(newest(t, b), size(t, newest(t, b))-700_000))
			large(t, b, b.acked.Load(), 2)
		}, "3.blk"},
		"cut where events came since": {func(t *testing.T, b *Bus) {
			head := large(t, b, b.acked.Load(), 1)
			must(t, os.Truncate(newest(t, b), size(t, newest(t, b))-10))
			large(t, b, head, 1)
		}, "3.blk"},
		"an old block deleted": {func(t *testing.T, b *Bus) {
			must(t, os.Remove(filepath.Join(b.embedded.messagesDir(StreamName), "1.blk")))
		}, "1.blk"},
		"a block deleted that came since": {func(t *testing.T, b *Bus) {
			head := large(t, b, b.acked.Load(), 13)
			must(t, os.Remove(newest(t, b)))
			large(t, b, head, 1)
		}, "3.blk was cut off, or the block after it was deleted"},
		"jetstream moved": {func(t *testing.T, b *Bus) {
			must(t, os.Rename(b.embedded.storeDir(), b.embedded.storeDir()+".away"))
		}, "jetstream"},
		"the log's directory moved": {func(t *testing.T, b *Bus) {
			dir := b.embedded.messagesDir(StreamName)
			must(t, os.Rename(dir, dir+".away"))
		}, "msgs"},
		"the blobs' directory replaced": {func(t *testing.T, b *Bus) {
			dir := b.embedded.messagesDir(BlobStream)
			must(t, os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700))
		}, BlobStream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Interval, Logger: testLogger(t)})
			must(t, err)
			head := large(t, b, 0, 30)
			must(t, b.Here())
			told := make(chan error, 1)
			b.OnDamage(func(err error) { told <- err })
			c.harm(t, b)
			if err := b.Here(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), c.named) {
				t.Errorf("the check of the files: %v, expected an error that names %s", err, c.named)
			}
			if len(told) != 1 || !errors.Is(b.Damage(), events.ErrReadOnly) {
				t.Errorf("the log still accepts writes: %v", b.Damage())
			}
			m := events.Message{Subject: "maestro.ev.p.task.1", Body: []byte("late")}
			if err := b.Append(t.Context(), head, []events.Message{m}); !errors.Is(err, events.ErrReadOnly) {
				t.Errorf("an append after it: %v", err)
			}
			if err := b.Close(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), c.named) {
				t.Errorf("the stop: %v, expected an error that names %s", err, c.named)
			}
		})
	}
}

// When the newest known block ends before an acknowledged message, it may have been cut, or the next block is missing:
// the message names both, since nothing in the files tells them apart.
func TestALostEndNamesBothReasons(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, b *Bus) (block string, lost uint64){
		"the block cut behind a message": func(t *testing.T, b *Bus) (string, uint64) {
			b.watch.mu.Lock()
			defer b.watch.mu.Unlock()
			must(t, os.Truncate(b.watch.path(), b.watch.at))
			return b.watch.path(), b.watch.last
		},
		"the next block deleted": func(t *testing.T, b *Bus) (string, uint64) {
			known, head := b.watch.path(), b.acked.Load()
			for newest(t, b) == known {
				head = large(t, b, head, 1)
			}
			must(t, os.Remove(newest(t, b)))
			return known, head
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mustOpen(t, t.TempDir(), Interval)
			large(t, b, 0, 15)
			must(t, b.Here())
			block, lost := harm(t, b)
			want := "no block holds it: the end of the block " + block +
				" was cut off, or the block after it was deleted, while this server was using them"
			err := b.Here()
			var damage *events.DamageError
			if !errors.As(err, &damage) || damage.Sequence != lost || damage.Why != want {
				t.Errorf("event %d is lost: %v, expected %q", lost, err, want)
			}
			if err := b.Close(); !errors.Is(err, events.ErrReadOnly) {
				t.Errorf("the stop: %v", err)
			}
		})
	}
}

// A block that is moved away just before the stop, after the last check, makes the stop fail too.
func TestStopSaysThatABlockIsGone(t *testing.T) {
	b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Interval, Logger: testLogger(t)})
	must(t, err)
	large(t, b, 0, 1)
	must(t, os.Remove(newest(t, b)))
	if err := b.Close(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), "1.blk") {
		t.Fatalf("the stop: %v", err)
	}
}

// The watch follows the server into new blocks, over a stop and a reopen, and reads only what is new.
func TestBlockWatchFollowsTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	head := uint64(0)
	for range 2 {
		b := mustOpen(t, dir, Interval)
		must(t, b.Here())
		for range 3 {
			head = large(t, b, head, 15)
			must(t, b.Here())
			if b.watch.last != head || b.watch.path() != newest(t, b) {
				t.Fatalf(
					"watched to %d in %s, the log is at %d in %s", b.watch.last, b.watch.path(), head, newest(t, b),
				)
			}
			if whole := b.watch.end - b.watch.at; whole > 601_000 {
				t.Fatalf("the next check reads %d bytes again", whole)
			}
		}
		b.doubtful.Store(true)
		if _, err := b.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		head = large(t, b, head, 1)
		must(t, b.Here(), b.Damage(), b.Close())
	}
}

// A log with a single event in its newest block continues after it was opened again.
func TestBlockWatchBehindASingleRecord(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	head := large(t, b, 0, 1)
	must(t, b.Close())
	b = mustOpen(t, dir, Always)
	must(t, b.Here())
	large(t, b, head, 1)
	must(t, b.Here(), b.Damage(), b.Close())
}

// The store's lock file is recreated when it is deleted or replaced; if another process has locked whatever is in its
// place, nothing more is written.
func TestStoreLockIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(path string) error
		kept bool
	}{
		"deleted":          {os.Remove, true},
		"replaced":         {func(path string) error { return os.WriteFile(path+".new", nil, 0o600) }, true},
		"taken by another": {func(path string) error { return os.WriteFile(path+".new", nil, 0o600) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := mustOpen(t, dir, Always)
			path := filepath.Join(dir, lockName)
			must(t, b.Here(), c.harm(path))
			if name != "deleted" {
				must(t, os.Rename(path+".new", path))
			}
			var other *os.File
			if !c.kept {
				var err error
				other, err = os.OpenFile(path, os.O_RDWR, 0)
				must(t, err, files.Lock(other))
				if err := b.Here(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
					t.Errorf("not noticed: %v", err)
				}
				must(t, other.Close())
				return
			}
			must(t, b.Here(), b.Here())
			other, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			if err := files.Lock(other); !errors.Is(err, files.ErrHeld) {
				t.Errorf("the file in its place is not held: %v", err)
			}
			must(t, other.Close())
		})
	}
}

package bus

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"maestro/events"
	"maestro/internal/disk"
)

// errorCount counts the errors that are logged.
type errorCount struct {
	slog.Handler
	n atomic.Int64
}

func (c *errorCount) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		c.n.Add(1)
	}
	return nil
}

func (c *errorCount) Enabled(context.Context, slog.Level) bool { return true }

func refusalIn(slot string) []events.StoredDenial {
	return []events.StoredDenial{{Actor: "/users/u", Slot: slot, Body: []byte("{}")}}
}

// TestDamageToNewestSideBlocks: damage to the newest block of the long texts stops writes; damage to that of
// the refusals is logged once.
func TestDamageToNewestSideBlocks(t *testing.T) {
	more := func(t *testing.T, b *Bus, stream string) {
		t.Helper()
		if stream == BlobStream {
			_, err := b.PutBlob(t.Context(), bytes.Repeat([]byte("more"), 10_000))
			must(t, err)
			return
		}
		must(t, b.StoreDenials(t.Context(), refusalIn("more")))
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, path string)
	}{
		"deleted": {func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		"replaced": {func(t *testing.T, path string) {
			content, err := os.ReadFile(path)
			must(t, err, os.Remove(path), os.WriteFile(path, content, 0o600))
		}},
		"emptied": {func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }},
		"cut": {func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err, os.Truncate(path, info.Size()-10))
		}},
		"a bit of its last record flipped": {func(t *testing.T, path string) {
			flip(t, path, func(size int64) int64 { return size - 12 })
		}},
	} {
		for _, stream := range []string{BlobStream, DeniedStream} {
			t.Run(name+" in "+stream, func(t *testing.T) {
				logged := &errorCount{Handler: slog.DiscardHandler}
				b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Interval, Logger: slog.New(logged)})
				must(t, err)
				defer func() { _ = b.Close() }()
				large(t, b, 0, 1)
				_, err = b.PutBlob(t.Context(), bytes.Repeat([]byte("text"), 50_000))
				must(t, err)
				for _, slot := range []string{"a", "b", "c"} {
					must(t, b.StoreDenials(t.Context(), refusalIn(slot)))
				}
				must(t, b.Here(), b.Here())
				more(t, b, stream)
				must(t, b.Here())
				c.harm(t, filepath.Join(b.embedded.messagesDir(stream), "1.blk"))
				first, second := b.Here(), b.Here()
				if stream == DeniedStream {
					must(t, first, second, b.Damage())
					if logged.n.Load() != 1 {
						t.Errorf("%d errors were logged", logged.n.Load())
					}
					return
				}
				if !errors.Is(first, events.ErrReadOnly) || !errors.Is(b.Damage(), events.ErrReadOnly) ||
					!strings.Contains(first.Error(), "1.blk") {
					t.Errorf("the check of the files: %v, the damage: %v", first, b.Damage())
				}
			})
		}
	}
}

// TestSideStreamWatchFollowsServer: the watch follows nats-server into new blocks, and reads only what is new.
func TestSideStreamWatchFollowsServer(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	for i := range 25 {
		_, err := b.PutBlob(t.Context(), bytes.Repeat([]byte{byte(i), 'x'}, 500_000))
		must(t, err, b.Here())
		side := b.watch.sides[0]
		blocks, err := blockFiles(side.dir)
		must(t, err)
		if side.index != blocks[len(blocks)-1] || side.end-side.at > 200_000 {
			t.Fatalf("the watch is in block %d of %v, and reads %d bytes again", side.index, blocks, side.end-side.at)
		}
		info, err := os.Stat(side.path())
		must(t, err)
		if side.end != info.Size() {
			t.Fatalf("read to %d of %d", side.end, info.Size())
		}
	}
	if b.watch.sides[0].index < 2 {
		t.Fatal("there was only one block")
	}
}

// TestTextOfDamagedNewestBlockIsReadFromDisk: nats-server would cut the block at the damage, and lose the
// texts after it.
func TestTextOfDamagedNewestBlockIsReadFromDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Always)
	var digests []string
	for i := range 8 {
		digest, err := b.PutBlob(t.Context(), bytes.Repeat([]byte{byte('a' + i)}, 50_000))
		must(t, err)
		digests = append(digests, digest)
	}
	must(t, b.Close())
	b = mustOpen(t, dir, Always)
	block := filepath.Join(streamPath(dir, BlobStream), "msgs", "1.blk")
	info, err := os.Stat(block)
	must(t, err)
	flip(t, block, func(size int64) int64 { return size / 3 })
	for _, digest := range digests {
		if _, err := b.Blob(t.Context(), digest); err == nil {
			continue
		} else if !errors.Is(err, events.ErrBadBlob) {
			t.Fatal(err)
		}
	}
	if !errors.Is(b.Damage(), events.ErrReadOnly) {
		t.Error("the damage was not noticed")
	}
	if now, err := os.Stat(block); err != nil || now.Size() != info.Size() {
		t.Errorf("the block has %d bytes, expected %d", now.Size(), info.Size())
	}
}

// TestNewestBlocksAreRereadToo: a small home has no other blocks.
func TestNewestBlocksAreRereadToo(t *testing.T) {
	for _, stream := range []string{StreamName, BlobStream} {
		t.Run(stream, func(t *testing.T) {
			b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Interval, Logger: testLogger(t)})
			must(t, err)
			defer func() { _ = b.Close() }()
			large(t, b, 0, 5)
			for i := range 5 {
				_, err = b.PutBlob(t.Context(), bytes.Repeat([]byte{byte(i)}, 50_000))
				must(t, err)
			}
			check := func() {
				ctx, cancel := context.WithCancel(t.Context())
				clock := &stepped{at: time.Now().Add(48 * time.Hour), stop: cancel, left: 1}
				b.KeepChecked(ctx, clock.now, clock.after)
				must(t, ignoreMissing(os.Remove(filepath.Join(b.embedded.dir, checkedName))))
			}
			check()
			must(t, b.Damage())
			flip(t, filepath.Join(b.embedded.messagesDir(stream), "1.blk"), func(size int64) int64 { return size / 3 })
			check()
			if !errors.Is(b.Damage(), events.ErrReadOnly) {
				t.Error("the daily check did not notice the damage")
			}
		})
	}
}

// TestAcknowledgedSideMessageIsInItsBlock: if one fstat of a block fails, nats-server treats the block as
// empty and overwrites its beginning. What it acknowledges then is not in its place.
func TestAcknowledgedSideMessageIsInItsBlock(t *testing.T) {
	for _, stream := range []string{BlobStream, DeniedStream} {
		t.Run(stream, func(t *testing.T) {
			logged := &errorCount{Handler: slog.DiscardHandler}
			b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Always, Logger: slog.New(logged)})
			must(t, err)
			defer func() { _ = b.Close() }()
			_, err = b.PutBlob(t.Context(), bytes.Repeat([]byte("text"), 50_000))
			must(t, err, b.StoreDenials(t.Context(), append(refusalIn("a"), refusalIn("b")...)), b.Here())
			path := filepath.Join(b.embedded.messagesDir(stream), "1.blk")
			before, err := os.Stat(path)
			must(t, err)
			overwrite := func() {
				content, err := os.ReadFile(path)
				must(t, err)
				written := content[before.Size():]
				must(t, os.WriteFile(path, append(written, content[len(written):before.Size()]...), 0o600))
			}
			if stream == DeniedStream {
				must(t, b.StoreDenials(t.Context(), refusalIn("c")))
				overwrite()
				must(t, b.Here())
				if logged.n.Load() == 0 {
					t.Error("nothing was logged")
				}
				return
			}
			text := []byte("a text that is written over another")
			must(t, b.publishBlob(t.Context(), Digest(text), text))
			overwrite()
			err = b.blobsAreThere(t.Context())
			if !errors.Is(err, events.ErrReadOnly) || b.Damage() == nil {
				t.Errorf("the write was acknowledged: %v, damage %v", err, b.Damage())
			}
		})
	}
}

// TestUnreadableDirectoryIsNotLoss: blocks that cannot be listed are not known to be gone.
func TestUnreadableDirectoryIsNotLoss(t *testing.T) {
	b, err := Open(t.Context(), Options{Dir: t.TempDir(), Durability: Always, Logger: testLogger(t)})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	_, err = b.PutBlob(t.Context(), []byte("text"))
	must(t, err, b.Here())
	for _, stream := range []string{BlobStream, DeniedStream} {
		dir, asked := b.embedded.messagesDir(stream), 0
		restore := disk.Inject(func(operation, path string) error {
			if operation == "readdir" && path == dir {
				asked++
				return syscall.EIO
			}
			return nil
		})
		err := b.Here()
		restore()
		if err != nil || b.Damage() != nil || asked == 0 {
			t.Errorf("%s: %v, damage %v, listed %d times", stream, err, b.Damage(), asked)
		}
	}
	must(t, b.Here())
}

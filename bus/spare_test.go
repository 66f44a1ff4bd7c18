package bus

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"maestro/events"
	"maestro/internal/testing/race"
)

// storedBlocks returns the content of every block of a store by its path in it.
func storedBlocks(t *testing.T, dir string) map[string]string {
	t.Helper()
	blocks := map[string]string{}
	for _, s := range storedStreams {
		paths, err := filepath.Glob(filepath.Join(streamPath(dir, s.name), "msgs", "*.blk"))
		must(t, err)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			must(t, err)
			name, err := filepath.Rel(dir, path)
			must(t, err)
			blocks[name] = string(content)
		}
	}
	return blocks
}

// obstruct makes nats-server fail at a stream after all checks were made, and delete it: it takes the stream for an
// encrypted one. Blocks that cannot have second names are copied.
func obstruct(t *testing.T, dir, stream string, names bool) (clear func()) {
	t.Helper()
	path := filepath.Join(streamPath(dir, stream), "meta.key")
	before := link
	clear = func() {
		link = before
		must(t, ignoreMissing(os.Remove(path)))
	}
	t.Cleanup(clear)
	link = func(from, to string) error {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if !names {
			return errors.ErrUnsupported
		}
		return os.Link(from, to)
	}
	return clear
}

// nats-server deletes a stream that it cannot open at a start. Every block is restored afterwards, and the store opens
// completely once the obstacle is gone.
func TestUnopenableStreamIsKept(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	for _, copies := range []bool{false, true} {
		for _, s := range storedStreams {
			name := s.name
			if copies {
				name += " without second names"
			}
			t.Run(name, func(t *testing.T) {
				image := storeCopy(t, dir)
				before := storedBlocks(t, image)
				clear := obstruct(t, image, s.name, !copies)
				for range 2 {
					_, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
					if err == nil || !strings.Contains(err.Error(), streamPath("", s.name)) ||
						errors.Is(err, events.ErrReadOnly) {
						t.Errorf("the store opens: %v", err)
					}
					if !maps.Equal(before, storedBlocks(t, image)) {
						t.Fatal("the blocks were changed")
					}
					must(t, ignoreMissing(os.Remove(filepath.Join(streamPath(image, s.name), "meta.key"))))
				}
				clear()
				b := openWitnessed(t, image, Always, uint64(len(log)))
				holdsAll(t, b, len(log), len(blobs), len(denials))
			})
		}
	}
}

// holdsAll checks that a bus accepts writes, and holds this many events, texts and refusals.
func holdsAll(t *testing.T, b *Bus, log, blobs, denials int) {
	t.Helper()
	holds(t, b, log, blobs, denials)
	if left, err := os.Lstat(b.embedded.spareDir()); err == nil {
		t.Errorf("%s is left", left.Name())
	}
}

// holds is holdsAll for a store whose start may not have removed the second names.
func holds(t *testing.T, b *Bus, log, blobs, denials int) {
	t.Helper()
	must(t, b.Damage())
	head, err := b.Sync(t.Context())
	if err != nil || head != uint64(log) { //nolint:gosec // not negative
		t.Errorf("the log ends at %d, expected %d, %v", head, log, err)
	}
	digests, err := b.Blobs(t.Context())
	if err != nil || len(digests) != blobs {
		t.Errorf("%d texts, expected %d, %v", len(digests), blobs, err)
	}
	refused := 0
	must(t, b.LoadDenials(t.Context(), func(events.StoredDenial) error { refused++; return nil }))
	if refused != denials {
		t.Errorf("%d refusals, expected %d", refused, denials)
	}
}

// The same applies when a running server is reopened after a failed write.
func TestFailedReopenKeepsStreams(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	for _, s := range storedStreams {
		t.Run(s.name, func(t *testing.T) {
			image := storeCopy(t, dir)
			b := openWitnessed(t, image, Always, uint64(len(log)))
			before := storedBlocks(t, image)
			clear := obstruct(t, image, s.name, true)
			for range 2 {
				b.doubtful.Store(true)
				if head, err := b.Sync(t.Context()); err == nil {
					t.Errorf("the store is open again with %d events", head)
				}
				b.open.RLock() // the reopen is tried again meanwhile
				if !maps.Equal(before, storedBlocks(t, image)) {
					t.Error("the blocks were changed")
				}
				if b.Ready() == nil {
					t.Error("the bus reports that it is ready")
				}
				b.open.RUnlock()
			}
			b.open.RLock()
			clear()
			b.open.RUnlock()
			b.mender.done.Wait()
			must(t, b.Ready())
			holdsAll(t, b, len(log), len(blobs), len(denials))
		})
	}
}

// giveUp makes nats-server give up at its next start, after all checks were made: a file is in the place of its
// directory.
func giveUp(t *testing.T, image string) (mend func()) {
	t.Helper()
	jetstream, away := filepath.Join(image, "jetstream"), filepath.Join(image, "away")
	before, once := synced, sync.Once{}
	synced = func(path string) {
		if _, err := os.Lstat(filepath.Join(image, spareName)); err == nil && path == image {
			once.Do(func() { must(t, os.Rename(jetstream, away), os.WriteFile(jetstream, nil, 0o600)) })
		}
	}
	t.Cleanup(func() { synced = before })
	return func() { synced = before; must(t, os.Remove(jetstream), os.Rename(away, jetstream)) }
}

// A server that gives up at its start reports the reason at once, at a start and at a reopen, and the store stays
// complete.
func TestFailedServerStartSaysWhy(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	image := storeCopy(t, dir)
	const why = "storage directory is not a directory"
	mend := giveUp(t, image)
	_, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the store opens: %v", err)
	}
	mend()
	b := openWitnessed(t, image, Always, uint64(len(log)))
	mend = giveUp(t, image)
	b.doubtful.Store(true)
	if _, err := b.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the store is open again: %v", err)
	}
	b.open.RLock()
	if b.Ready() == nil {
		t.Error("the bus reports that it is ready")
	}
	mend()
	b.open.RUnlock()
	b.mender.done.Wait()
	must(t, b.Ready())
	holdsAll(t, b, len(log), len(blobs), len(denials))
}

// If a start is killed after nats-server has deleted a stream, the next start puts the blocks back.
func TestStartRestoresWhatKilledStartDeleted(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	for name, gone := range map[string]func(block int) bool{
		"nothing":      func(int) bool { return false },
		"some blocks":  func(n int) bool { return n%2 == 1 },
		"all of them":  func(int) bool { return true },
		"the last one": func(n int) bool { return n == 3 },
	} {
		t.Run(name, func(t *testing.T) {
			image := storeCopy(t, dir)
			before := storedBlocks(t, image)
			e := &embedded{dir: image}
			must(t, e.spare(nil))
			for _, s := range storedStreams {
				blocks, err := blockFiles(e.messagesDir(s.name))
				must(t, err)
				for _, index := range blocks {
					if gone(index) {
						must(t, os.Remove(filepath.Join(e.messagesDir(s.name), blockName(index))))
					}
				}
				if gone(1) && gone(2) {
					must(t, os.RemoveAll(streamPath(image, s.name)))
				}
			}
			b := openWitnessed(t, image, Always, uint64(len(log)))
			holdsAll(t, b, len(log), len(blobs), len(denials))
			must(t, b.Close())
			for path, content := range before {
				if now := storedBlocks(t, image)[path]; !strings.HasPrefix(now, content) {
					t.Errorf("%s has %d bytes, expected %d", path, len(now), len(content))
				}
			}
		})
	}
}

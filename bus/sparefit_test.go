package bus

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/testing/race"
)

// onceSpared calls do once, when a start has given the blocks of a store second names, unless restore is called before.
func onceSpared(image string, do func()) (restore func()) {
	before, once := synced, sync.Once{}
	synced = func(path string) {
		if _, err := os.Lstat(filepath.Join(image, spareName)); err == nil && path == image {
			once.Do(do)
		}
	}
	return func() { synced = before }
}

// afterSpare is onceSpared until the end of the test.
func afterSpare(t *testing.T, image string, do func()) {
	t.Helper()
	t.Cleanup(onceSpared(image, do))
}

// spoiled are ways in which a start loses a block that every check before has read: nats-server deletes one that it
// takes for empty, and cuts one that it misreads, in its place.
var spoiled = map[string]func(path string) error{
	"taken for empty": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	"cut in its place": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()*2/3)
	},
}

// newestOf returns the path of a stream's newest block.
func newestOf(t *testing.T, image, stream string) string {
	t.Helper()
	messages := filepath.Join(streamPath(image, stream), "msgs")
	blocks, err := blockFiles(messages)
	must(t, err)
	return filepath.Join(messages, blockName(blocks[len(blocks)-1]))
}

// A start that loses messages of any stream fails, and the blocks are restored.
func TestStartRestoresLostMessages(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	for how, spoil := range spoiled {
		for _, s := range storedStreams {
			t.Run(s.name+" "+how, func(t *testing.T) {
				image := storeCopy(t, dir)
				before := storedBlocks(t, image)
				newest := newestOf(t, image, s.name)
				afterSpare(t, image, func() { must(t, spoil(newest)) })
				_, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
				if err == nil || !strings.Contains(err.Error(), s.name) || errors.Is(err, events.ErrReadOnly) {
					t.Errorf("the store opens: %v", err)
				}
				now := storedBlocks(t, image)
				for path, content := range before {
					if now[path] != content {
						t.Errorf("%s has %d bytes, expected %d", path, len(now[path]), len(content))
					}
				}
				holdsAll(t, openWitnessed(t, image, Always, uint64(len(log))), len(log), len(blobs), len(denials))
			})
		}
	}
}

// The same applies when a running server is reopened: it continues with all blocks.
func TestReopenRestoresLostMessages(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	for how, spoil := range spoiled {
		for _, s := range storedStreams {
			t.Run(s.name+" "+how, func(t *testing.T) {
				image := storeCopy(t, dir)
				b := openWitnessed(t, image, Always, uint64(len(log)))
				newest := newestOf(t, image, s.name)
				afterSpare(t, image, func() { must(t, spoil(newest)) })
				b.doubtful.Store(true)
				if head, err := b.Sync(t.Context()); err == nil {
					t.Errorf("the store is open again with %d events", head)
				}
				b.mender.done.Wait()
				must(t, b.Ready())
				holdsAll(t, b, len(log), len(blobs), len(denials))
			})
		}
	}
}

// A start in which a newest block cannot be copied, and nats-server would cut it, is refused; a full disk has no copy.
func TestStartNeedsCopyOfNewestBlock(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	for _, s := range storedStreams {
		image := storeCopy(t, dir)
		newest := newestOf(t, image, s.name)
		end := onceSpared(image, func() { must(t, spoiled["cut in its place"](newest)) })
		var why error = syscall.EIO
		restore := disk.Inject(func(operation, path string) error {
			if operation == "open" && strings.HasSuffix(path, copySuffix) && strings.Contains(path, s.name) {
				return why
			}
			return nil
		})
		options := Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)}
		if b, err := Open(t.Context(), options); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: the store opens: %v, %v", s.name, err, b)
		}
		end()
		why = syscall.ENOSPC
		b, err := Open(t.Context(), options)
		must(t, err)
		holdsAll(t, b, len(log), len(blobs), len(denials))
		restore()
		must(t, b.Close())
	}
}

// hides leaves a store as it is when a start is killed after nats-server deleted or emptied blocks.
func hides(t *testing.T, image, stream, how string) {
	t.Helper()
	must(t, (&embedded{dir: image}).spare(nil))
	messages := filepath.Join(streamPath(image, stream), "msgs")
	blocks, err := blockFiles(messages)
	must(t, err)
	for _, index := range blocks {
		path := filepath.Join(messages, blockName(index))
		must(t, os.Remove(path))
		if how == "empty" {
			must(t, os.WriteFile(path, nil, 0o600))
		}
	}
	switch how {
	case "without the stream":
		must(t, os.RemoveAll(streamPath(image, stream)))
	case "copy alone":
		must(t, os.RemoveAll(filepath.Join(image, spareName, stream, blockName(blocks[len(blocks)-1]))))
	}
}

// Blocks that a killed start left only under their second names are found by readers that write nothing, and the next
// start puts them back.
func TestSecondNamesAreReadAndRestored(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	for _, s := range storedStreams {
		for _, how := range []string{"gone", "empty", "without the stream", "copy alone"} {
			t.Run(s.name+" "+how, func(t *testing.T) {
				image := storeCopy(t, dir)
				hides(t, image, s.name, how)
				r, err := OpenReadOnly(t.Context(), Options{Dir: image})
				must(t, err)
				digests, err := r.Blobs(t.Context())
				if err != nil || r.Head() != uint64(len(log)) || len(digests) != len(blobs) || len(r.Faults()) > 0 {
					t.Errorf("the log ends at %d, %d texts, %v, %v", r.Head(), len(digests), err, r.Faults())
				}
				for _, digest := range digests {
					if _, err := r.Blob(t.Context(), digest); err != nil {
						t.Error(err)
					}
				}
				read, refused := 0, 0
				must(t, r.Read(t.Context(), 1, r.Head(), func(events.Message) error { read++; return nil }))
				must(t, r.LoadDenials(t.Context(), func(events.StoredDenial) error { refused++; return nil }))
				if read != len(log) || refused != len(denials) {
					t.Errorf("%d events and %d refusals", read, refused)
				}
				if strays, err := Strays(t.Context(), image); err != nil || len(strays) > 0 {
					t.Errorf("unknown: %q, %v", strays, err)
				}
				if !HoldsLog(image) || HoldsNoEvent(image) {
					t.Error("the store is taken for empty")
				}
				must(t, r.Close())
				b := openWitnessed(t, image, Always, uint64(len(log)))
				holdsAll(t, b, len(log), len(blobs), len(denials))
			})
		}
	}
}

// Whatever else is in the place of second names does not stop a start, and is kept.
func TestStrangeSecondNamesAreSetAside(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	junk := strings.Repeat("junk", 1000)
	junkIn := func(parts ...string) error { return writeAt(filepath.Join(parts...), junk) }
	for name, put := range map[string]func(spare string) error{
		"a file":            func(spare string) error { return os.WriteFile(spare, nil, 0o600) },
		"a link":            func(spare string) error { return os.Symlink(os.TempDir(), spare) },
		"a stream's file":   func(spare string) error { return junkIn(spare, StreamName) },
		"a stream's link":   func(spare string) error { return linkAt(t.TempDir(), filepath.Join(spare, StreamName)) },
		"notes":             func(spare string) error { return junkIn(spare, StreamName, "notes") },
		"a block of junk":   func(spare string) error { return junkIn(spare, StreamName, "9.blk") },
		"an unknown stream": func(spare string) error { return junkIn(spare, "OTHER", "1.blk") },
		"a directory": func(spare string) error {
			return os.MkdirAll(filepath.Join(spare, StreamName, "9.blk"), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			image := storeCopy(t, dir)
			must(t, put(filepath.Join(image, spareName)))
			b := openWitnessed(t, image, Always, uint64(len(log)))
			holdsAll(t, b, len(log), len(blobs), len(denials))
			kept := false
			must(t, filepath.WalkDir(filepath.Dir(image), func(path string, _ os.DirEntry, err error) error {
				content, readErr := os.ReadFile(path)
				kept = kept || readErr == nil && string(content) == junk
				return err
			}))
			switch name {
			case "a stream's file", "notes", "a block of junk", "an unknown stream":
				if !kept {
					t.Error("the entry is gone")
				}
			}
		})
	}
}

func writeAt(path, content string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600))
}

func linkAt(to, path string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path))
}

// A second name that has more than the block in its place is put back, not deleted.
func TestLongerSecondNameIsRestored(t *testing.T) {
	dir, _, _, _ := filledStore(t)
	image := storeCopy(t, dir)
	newest := newestOf(t, image, StreamName)
	content, err := os.ReadFile(newest)
	must(t, err)
	spared := filepath.Join(sparePath(image, StreamName), filepath.Base(newest))
	must(t, writeAt(spared, string(content)))
	e := &embedded{dir: image, logger: testLogger(t)}
	s, err := scanPlaces(context.Background(), image, StreamName, events.SubjectPrefix, nil)
	must(t, err)
	last := s.places[len(s.places)-1]
	must(t, os.Truncate(newest, last.offset))
	before := maps.Clone(storedBlocks(t, image))
	if _, err := e.putBack(); err != nil {
		t.Fatal(err)
	}
	if now := storedBlocks(t, image); len(now) != len(before) {
		t.Errorf("%d blocks, expected %d", len(now), len(before))
	}
	if got, err := os.ReadFile(newest); err != nil || string(got) != string(content) {
		t.Errorf("the block has %d bytes, expected %d, %v", len(got), len(content), err)
	}
}

// An odd entry beside the second names of a killed start affects nothing else: the other names are removed, no block of
// the store is copied, and only unknown entries are kept.
func TestOddSecondNameIsSetAsideAlone(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	junk := strings.Repeat("junk", 1000)
	for name, c := range map[string]struct {
		put  func(spare, newest string) error
		kept string // below the directory set aside; "" if there is none
	}{
		"a copy of zeros": {put: func(spare, newest string) error {
			info, err := os.Stat(newest)
			return errors.Join(err, writeAt(filepath.Join(spare, filepath.Base(newest)+copySuffix),
				string(make([]byte, info.Size()))))
		}},
		"an empty copy": {put: func(spare, newest string) error {
			return writeAt(filepath.Join(spare, filepath.Base(newest)+copySuffix), "")
		}},
		"half a copy": {put: func(spare, newest string) error {
			content, err := os.ReadFile(newest)
			return errors.Join(err, writeAt(filepath.Join(spare, filepath.Base(newest)+copySuffix),
				string(content[:len(content)/2])))
		}},
		"a file": {kept: ".nfs0001", put: func(spare, _ string) error {
			return writeAt(filepath.Join(spare, ".nfs0001"), junk)
		}},
		"a block of junk": {kept: "9.blk", put: func(spare, _ string) error {
			return writeAt(filepath.Join(spare, "9.blk"), junk)
		}},
		"a directory": {kept: "9.blk", put: func(spare, _ string) error {
			return writeAt(filepath.Join(spare, "9.blk", "notes"), junk)
		}},
		"a link": {kept: "9.blk", put: func(spare, newest string) error {
			return os.Symlink(newest, filepath.Join(spare, "9.blk"))
		}},
	} {
		for _, s := range storedStreams {
			t.Run(s.name+" "+name, func(t *testing.T) {
				image := storeCopy(t, dir)
				must(t, (&embedded{dir: image}).spare(nil))
				newest := newestOf(t, image, s.name)
				_ = os.Remove(filepath.Join(sparePath(image, s.name), filepath.Base(newest)+copySuffix))
				must(t, c.put(sparePath(image, s.name), newest))
				before, err := os.Stat(newest)
				must(t, err)

				_, err = (&embedded{dir: image, logger: testLogger(t)}).putBack()
				must(t, err)
				after, err := os.Stat(newest)
				if err != nil || !os.SameFile(before, after) || files.Links(after) != 1 {
					t.Errorf("%s is another file, or shared: %v", newest, err)
				}
				aside, err := filepath.Glob(filepath.Join(filepath.Dir(image), "store.damaged-*"))
				must(t, err)
				var kept []string
				if len(aside) == 1 {
					entries, err := os.ReadDir(filepath.Join(aside[0], spareName, s.name))
					must(t, err)
					for _, entry := range entries {
						kept = append(kept, entry.Name())
					}
				}
				if strings.Join(kept, " ") != c.kept || len(aside) > 0 != (c.kept != "") {
					t.Errorf("%q in %q, expected %q", kept, aside, c.kept)
				}
				holdsAll(t, openWitnessed(t, image, Always, uint64(len(log))), len(log), len(blobs), len(denials))
			})
		}
	}
}

// A block that a start cuts before the end of its first record, and then deletes, is gone under its second name too:
// only the copy has its contents. The index may tell the server that nothing is missing.
func TestTruncatedAndDeletedBlockIsRestored(t *testing.T) {
	s := newDividedStore(t)
	for _, stored := range storedStreams {
		t.Run(stored.name, func(t *testing.T) {
			image := filepath.Join(t.TempDir(), "store")
			copyStore(t, s.dir, image)
			b, err := Open(t.Context(), s.options(t, image))
			must(t, err)
			path := newestOf(t, image, stored.name)
			end := onceSpared(image, func() { must(t, os.Truncate(path, 10), os.Remove(path)) })
			_, err = b.reopen(t.Context())
			end()
			if err == nil || !strings.Contains(err.Error(), stored.name) {
				t.Errorf("the store opens: %v", err)
			}
			_, err = b.reopen(t.Context())
			must(t, err)
			s.has(t, b)
			must(t, b.Close())
			leavesNothing(t, image)
		})
	}
}

//go:build unix

package bus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/events"
	"maestro/internal/testing/race"
)

// otherKinds are what may be in the place of a file or a directory.
var otherKinds = map[string]func(path string) error{
	"a link to itself":   func(path string) error { return os.Symlink(path, path) },
	"a link to nothing":  func(path string) error { return os.Symlink("nowhere", path) },
	"a named pipe":       func(path string) error { return unix.Mkfifo(path, 0o600) },
	"a directory":        func(path string) error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) },
	"a compressed block": func(path string) error { return os.WriteFile(path, []byte("cmp"), 0o600) },
}

// TestIrregularFilesInStore: if something else is in the place of one of its files or directories, the log opens
// read-only, and any other stream is recreated. Every start succeeds.
func TestIrregularFilesInStore(t *testing.T) {
	race.Without(t)
	dir, log, blobs, _ := filledStore(t)
	for kind, put := range otherKinds {
		for _, name := range []string{
			"msgs/1.blk", "msgs/2.blk", "msgs/index.db", "meta.inf", "meta.sum", "msgs", "obs", "",
		} {
			if kind == "a directory" && (name == "msgs" || name == "obs" || name == "") {
				continue
			}
			for _, stream := range []string{StreamName, BlobStream} {
				t.Run(kind+" for "+name+" in "+stream, func(t *testing.T) {
					t.Parallel()
					image := storeCopy(t, dir)
					path := filepath.Join(streamPath(image, stream), name)
					must(t, os.RemoveAll(path), put(path))
					b, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
					if err != nil {
						t.Fatalf("the store does not open: %v", err)
					}
					remade := name == "msgs/index.db" || name == "meta.inf" || name == "meta.sum"
					content := kind == "a compressed block" && !strings.HasSuffix(name, ".blk")
					readOnly := errors.Is(b.Damage(), events.ErrReadOnly)
					damaged := !remade && (stream == StreamName || kind == "a compressed block")
					if !content && readOnly != damaged {
						t.Errorf("damage: %v", b.Damage())
					}
					if got, err := b.Blobs(t.Context()); err != nil || stream == StreamName && len(got) != len(blobs) {
						t.Errorf("%d blobs, expected %d, %v", len(got), len(blobs), err)
					}
					must(t, b.Close())
					lost := stream == StreamName && (name == "" || name == "msgs" || strings.HasSuffix(name, ".blk"))
					left := len(readable(t, image))
					if !lost && left != len(log) || strings.HasSuffix(name, ".blk") && left == 0 {
						t.Errorf("%d of %d messages can be read", left, len(log))
					}
				})
			}
		}
	}
}

// TestReplacedDirectoriesAboveRunningStore: anything that takes the place of a directory above the acknowledged blocks
// of a stream is noticed and named.
func TestReplacedDirectoriesAboveRunningStore(t *testing.T) {
	race.Without(t)
	dir, log, blobs, _ := filledStore(t)
	for kind, put := range otherKinds {
		if kind == "a directory" {
			continue // an empty directory is like a store that was moved
		}
		for _, stream := range []string{StreamName, BlobStream} {
			for _, above := range []string{"..", "../..", "../../..", "../../../.."} { // as far as jetstream
				t.Run(kind+" at msgs/"+above+" of "+stream, func(t *testing.T) {
					t.Parallel()
					image := storeCopy(t, dir)
					b, err := Open(t.Context(), Options{Dir: image, Logger: testLogger(t)})
					must(t, err)
					defer func() { _ = b.Close() }() // Close reports that something is gone
					must(t, b.Here())
					path := filepath.Join(b.embedded.messagesDir(stream), above)
					must(t, os.RemoveAll(path), put(path))
					if err := b.Here(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
						t.Errorf("not noticed: %v", err)
					}
					err = b.Read(t.Context(), 1, uint64(len(log)), func(events.Message) error { return nil })
					var damage *events.DamageError
					if stream == StreamName && !errors.As(err, &damage) {
						t.Errorf("a read of the log: %v", err)
					}
					for digest := range blobs {
						text, err := b.Blob(t.Context(), digest)
						lost := errors.Is(err, events.ErrNoBlob) || errors.Is(err, events.ErrBadBlob)
						kept := err == nil && bytes.Equal(text, blobs[digest]) // in the server's memory
						if stream == BlobStream && !lost && !kept {
							t.Errorf("a read of a long text: %v", err)
						}
					}
				})
			}
		}
	}
}

// TestMovedStorePartIsNoticed: a directory or a block that is moved away and replaced by a link
// is no longer in the store, although the link leads to the same bytes.
func TestMovedStorePartIsNoticed(t *testing.T) {
	race.Without(t)
	dir, _, _, _ := filledStore(t)
	for _, stream := range []string{StreamName, BlobStream} {
		for _, place := range []string{".", "..", "../..", "../../..", "../../../..", "1.blk"} { // as far as jetstream
			t.Run(place+" of "+stream, func(t *testing.T) {
				image := storeCopy(t, dir)
				b, err := Open(t.Context(), Options{Dir: image, Logger: testLogger(t)})
				must(t, err)
				defer func() { _ = b.Close() }() // Close reports that something is elsewhere
				must(t, b.Here())
				path := filepath.Join(b.embedded.messagesDir(stream), place)
				elsewhere := filepath.Join(t.TempDir(), "elsewhere")
				must(t, os.Rename(path, elsewhere), os.Symlink(elsewhere, path))
				if err := b.Here(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
					t.Errorf("not noticed: %v", err)
				}
			})
		}
	}
}

// TestReplacedSideStreamFilesWhileRunning: anything that takes the place of a block of a side stream ends the writes,
// whatever notices it first, and a reopen does not wait for a server that blocks at a pipe.
func TestReplacedSideStreamFilesWhileRunning(t *testing.T) {
	race.Without(t)
	dir, log, blobs, _ := filledStore(t)
	for kind, put := range otherKinds {
		if kind == "a compressed block" {
			continue // the daily check reads it
		}
		for _, stream := range []string{BlobStream, DeniedStream} {
			for way, look := range map[string]func(*Bus) error{
				"the look every second": (*Bus).Here,
				"a reopen": func(b *Bus) error {
					_, err := b.reopen(t.Context())
					return err
				},
				"a reader": func(b *Bus) error {
					for digest := range blobs {
						if _, err := b.Blob(t.Context(), digest); err != nil {
							break
						}
					}
					return b.Damage()
				},
			} {
				if way == "a reader" && (stream == DeniedStream || strings.Contains(kind, "link")) {
					continue // a reader that follows a link finds nothing
				}
				t.Run(kind+" in "+stream+", "+way, func(t *testing.T) {
					t.Parallel()
					image := storeCopy(t, dir)
					b, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
					must(t, err)
					defer func() { _ = b.Close() }() // Close reports that something is gone
					must(t, b.Here())
					path := filepath.Join(b.embedded.messagesDir(stream), "1.blk")
					must(t, os.Rename(path, image+".away"), put(path))
					if err := look(b); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
						t.Errorf("not noticed: %v", err)
					}
				})
			}
		}
	}
}

// TestReplacedFilesWhileRunning: anything that takes the place of a block is noticed before the server opens it,
// because the server would block at a pipe forever.
func TestReplacedFilesWhileRunning(t *testing.T) {
	race.Without(t)
	dir, _, _, _ := filledStore(t)
	for kind, put := range otherKinds {
		if kind == "a compressed block" {
			continue // the daily check reads it
		}
		for _, name := range []string{
			"1.blk", "3.blk", "4.blk", "", indexName, "../" + metaName, "../" + metaSumName, "../" + consumersName,
		} {
			t.Run(kind+" for "+name, func(t *testing.T) {
				t.Parallel()
				image := storeCopy(t, dir)
				b, err := Open(t.Context(), Options{Dir: image, Logger: testLogger(t)})
				must(t, err)
				defer func() { _ = b.Close() }() // Close reports that something is gone
				must(t, b.Here())
				messages := b.embedded.messagesDir(StreamName)
				path := filepath.Join(messages, name)
				must(t, ignoreMissing(os.Rename(path, messages+".away"))) // 4.blk is the next one
				must(t, put(path))
				if err := b.Here(); !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
					t.Errorf("not noticed: %v", err)
				}
			})
		}
	}
}

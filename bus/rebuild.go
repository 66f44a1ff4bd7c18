package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"maestro/events"
	"maestro/internal/disk"
)

// sideStreams are the streams beside the log, which are rebuilt from what was set aside of them.
var sideStreams = []string{BlobStream, DeniedStream}

// awaited returns, by stream, the directories from which it must still be rebuilt: all that were set aside and have no
// mark, listed or not. missing are the listed directories that do not exist.
func awaited(dir string) (paths map[string][]string, missing map[string][]string, err error) {
	paths, missing = map[string][]string{}, map[string][]string{}
	listed, listErr := pendingRebuilds(dir)
	if listErr != nil {
		listed = nil // everything that it can name is beside the store
	}
	for _, stream := range sideStreams {
		found, err := asides(dir, strings.ToLower(stream))
		if err != nil {
			return nil, nil, err
		}
		for _, name := range listed[stream] {
			if !slices.Contains(found, filepath.Join(filepath.Dir(dir), name)) {
				missing[stream] = append(missing[stream], name)
			}
		}
		if found = slices.DeleteFunc(found, isRemade); len(found) > 0 {
			paths[stream] = found
		}
	}
	return paths, missing, nil
}

// rebuildSideStreams puts back what can be read of the streams that were set aside. The next start retries a directory
// that cannot be read completely.
func (b *Bus) rebuildSideStreams(ctx context.Context) error {
	paths, missing, err := awaited(b.embedded.dir)
	if err != nil {
		return err
	}
	for stream, names := range missing {
		for _, name := range names {
			b.options.Logger.Error("a stream was set aside to be rebuilt, and its directory is gone",
				"stream", stream, "directory", name,
				"next", "put the directory back and restart the server; else see `maestro audit verify` for lost "+
					"texts, and restore them with `maestro salvage --with BACKUP`")
		}
	}
	list := filepath.Join(b.embedded.dir, rebuildsName)
	if _, err := disk.Lstat(list); len(paths) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var done []string
	for stream, asides := range paths {
		for _, aside := range asides {
			err := b.rebuildSide(ctx, stream, aside)
			var unread *unreadAsideError
			if errors.As(err, &unread) {
				b.options.Logger.Error("a part of a stream that was set aside cannot be read; the rest is put back",
					"stream", stream, "aside", aside, "why", err,
					"next", "make it readable and restart the server, or delete the directory")
				continue
			}
			if err != nil {
				return fmt.Errorf("make the stream %s again from %s: %w", stream, aside, err)
			}
			done = append(done, aside)
		}
	}
	if err := b.Firm(); err != nil {
		return full(err)
	}
	if err := syncTree(b.embedded.storeDir()); err != nil {
		return full(err)
	}
	for _, aside := range done {
		if err := writeAtomically(filepath.Join(aside, remadeName)); err != nil {
			return err
		}
		b.options.Logger.Info("the readable part of a stream that was set aside is put back", "aside", aside)
	}
	if err := ignoreMissing(disk.Remove(list)); err != nil {
		return full(err)
	}
	return syncPath(b.embedded.dir)
}

// unreadAsideError names what cannot be read in a directory.
type unreadAsideError struct{ err error }

func (e *unreadAsideError) Error() string { return e.err.Error() }
func (e *unreadAsideError) Unwrap() error { return e.err }

func unreadAside(files *ReadOnly) error {
	if files.failed == nil {
		return nil
	}
	return &unreadAsideError{files.failed}
}

// slot identifies the slot of one refusal.
type slot struct{ actor, slot string }

// rebuildSide puts back what can be read of one directory.
func (b *Bus) rebuildSide(ctx context.Context, stream, aside string) error {
	files, err := openFiles(ctx, aside)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	if stream == DeniedStream {
		newer := map[slot]bool{}
		if err := b.LoadDenials(ctx, func(d events.StoredDenial) error {
			newer[slot{d.Actor, d.Slot}] = true
			return nil
		}); err != nil {
			return err
		}
		err := files.LoadDenials(ctx, func(d events.StoredDenial) error {
			if newer[slot{d.Actor, d.Slot}] {
				return nil
			}
			return b.storeDenials(ctx, []events.StoredDenial{d}, bulkTimeout)
		})
		return errors.Join(err, unreadAside(files))
	}
	digests, err := files.Blobs(ctx)
	if err != nil {
		return err
	}
	var unread error
	for _, digest := range digests {
		content, err := files.Blob(ctx, digest)
		var failed *fs.PathError
		if errors.As(err, &failed) { // the directory may be intact
			unread = &unreadAsideError{err}
			continue
		}
		if errors.Is(err, ErrBlobDamaged) {
			b.options.Logger.Error("a long text is lost; restore it from a backup", "blob", digest, "why", err)
			continue
		}
		if err == nil {
			_, err = b.putBlob(ctx, content, bulkTimeout)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(unread, unreadAside(files))
}

// readAsides opens what was set aside of the streams beside the log. Texts there count too, because a digest verifies
// them.
func (r *ReadOnly) readAsides(ctx context.Context) error {
	_, missing, err := awaited(r.dir)
	if err != nil {
		return err
	}
	for stream, names := range missing {
		for _, name := range names {
			r.faults = append(r.faults, Fault{
				Stream: stream,
				File:   rebuildsName,
				Why:    "the stream was set aside to " + name + " to be rebuilt, and that directory is gone",
			})
		}
	}
	for _, stream := range sideStreams {
		paths, err := asides(r.dir, strings.ToLower(stream))
		if err != nil {
			return err
		}
		for _, path := range paths {
			remade := isRemade(path)
			if remade && stream == DeniedStream {
				continue // refusals that newer ones replaced would come back
			}
			files, err := openFiles(ctx, path)
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				r.faults = append(r.faults, Fault{Stream: stream, File: filepath.Base(path), Why: err.Error()})
				continue
			}
			r.asides = append(r.asides, files)
			if !remade {
				r.faults = append(r.faults, Fault{
					Stream: stream,
					File:   filepath.Base(path),
					Why:    "the stream was set aside and is not fully rebuilt yet; it is read from here too",
				})
			}
		}
	}
	return nil
}

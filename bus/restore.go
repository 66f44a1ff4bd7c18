package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// maxRestoreBytes and maxBatch bound one append.
const maxRestoreBytes = 2 << 20

// bulkTimeout bounds one write while a store is filled. It is generous: nobody waits for a single write, and filling
// the store keeps the disk busy.
const bulkTimeout = 5 * time.Minute

const scratchPurpose = "restore"

// RemoveUnbuilt removes what an interrupted Build in dir left, and returns the names. The caller makes sure that nobody
// else creates a store there.
func RemoveUnbuilt(dir string) (removed []string, err error) {
	return files.RemoveLeftovers(dir, scratchPurpose)
}

// Unbuilt lists what RemoveUnbuilt would remove.
func Unbuilt(dir string) ([]string, error) { return files.Leftovers(dir, scratchPurpose) }

// Build creates a store in dir, which must not exist or be empty, from what fill puts into it. It returns the head of
// the log. If anything fails, it leaves nothing behind.
func Build(ctx context.Context, dir string, fill func(*Builder) error) (events.Head, error) {
	head, err := build(ctx, dir, fill)
	if err != nil {
		return events.Head{}, fmt.Errorf("make the store %s: %w", dir, err)
	}
	return head, nil
}

func build(ctx context.Context, dir string, fill func(*Builder) error) (head events.Head, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return head, err
	}
	if err := vacant(dir); err != nil {
		return head, err
	}
	parent := filepath.Dir(dir)
	if err := disk.MkdirAll(parent, 0o700); err != nil {
		return head, full(err)
	}
	scratch, err := files.NewScratch(dir, scratchPurpose)
	if err != nil {
		return head, full(err)
	}
	temporary := scratch.Path
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.RemoveAll(temporary))
		}
		err = errors.Join(err, scratch.Release())
	}()
	// Nothing is acknowledged before the rename, and everything is synced before it.
	b, err := Open(ctx, Options{
		Dir:        temporary,
		Durability: Interval,
		Timeout:    bulkTimeout,
		locked:     true,
	})
	if err != nil {
		return head, err
	}
	builder := &Builder{ctx: ctx, bus: b, dir: temporary}
	if err = fill(builder); err == nil {
		err = builder.flush()
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return head, err
	}
	return builder.head, PutInPlace(temporary, dir, "jetstream")
}

// PutInPlace syncs a files.Scratch for a directory, with everything in it, and then renames it to the directory. If the
// directory existed before, the content moves into it, and last marks that all of it is there; see files.FillInPlace.
func PutInPlace(temporary, dir, last string, beside ...string) error {
	if err := syncTree(temporary); err != nil {
		return full(err)
	}
	if filepath.Dir(temporary) == dir {
		if err := files.FillInPlace(temporary, last, beside...); err != nil {
			return full(err)
		}
		_ = disk.RemoveAll(temporary) // nothing is in it any more
		return nil
	}
	// An empty directory may have been created since; os.Rename does not replace one.
	if info, err := disk.Lstat(dir); err == nil && info.IsDir() {
		if err := disk.Remove(dir); err != nil {
			return err
		}
	}
	if err := disk.Rename(temporary, dir); err != nil {
		return err
	}
	return syncPath(filepath.Dir(dir))
}

// vacant returns why dir cannot be restored into, or nil.
func vacant(dir string) error {
	name, err := files.Occupied(dir, scratchPurpose)
	if err == nil && name != "" {
		return errors.New("the directory is not empty: choose another, or move it away")
	}
	return err
}

// Builder fills a new store.
type Builder struct {
	ctx  context.Context //nolint:containedctx // it lives for one Build
	bus  *Bus
	dir  string
	head events.Head

	batch    []events.Message
	size     int
	appended uint64
}

// Head returns the log's head.
func (s *Builder) Head() events.Head { return s.head }

// Message appends the next message of the log. The store takes ownership of the body.
func (s *Builder) Message(m events.Message) error {
	if m.Sequence != s.head.Sequence+1 {
		return fmt.Errorf("sequence %d follows %d", m.Sequence, s.head.Sequence)
	}
	s.head = events.Head{Sequence: m.Sequence, Hash: events.Next(s.head.Hash, events.BodyHash(m.Body))}
	s.batch = append(s.batch, m)
	s.size += len(m.Body)
	if len(s.batch) < maxBatch && s.size < maxRestoreBytes {
		return nil
	}
	return s.flush()
}

func (s *Builder) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	if err := s.bus.Append(s.ctx, s.appended, s.batch); err != nil {
		return err
	}
	s.appended += uint64(len(s.batch))
	s.batch, s.size = s.batch[:0], 0
	return nil
}

// Note writes a file to the store's directory. The file is durable before the store is renamed into place.
func (s *Builder) Note(name string, content []byte) error {
	return writeAtomically(filepath.Join(s.dir, name), content)
}

// Blob stores a long text.
func (s *Builder) Blob(content []byte) error {
	_, err := s.bus.PutBlob(s.ctx, content)
	return err
}

// Denials stores records of refusals.
func (s *Builder) Denials(records []events.StoredDenial) error {
	return s.bus.StoreDenials(s.ctx, records)
}

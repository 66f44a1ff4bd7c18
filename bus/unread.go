package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// UnreadError means that a part of the store cannot be read at present. It does not mean damage: the stored data may be
// intact. Match it with errors.As, or with events.ErrUnreadable. A store that could not be read when it was opened is
// served read-only until it can be read: errors.Is(err, events.ErrReadOnly) holds only in that case.
type UnreadError struct {
	// Path is the file or directory.
	Path string
	Err  error

	// readOnly says that the store is therefore served without a server, again that it is checked again.
	readOnly, again bool
}

func (e *UnreadError) Error() string {
	why := e.Err.Error()
	var failed *fs.PathError
	if errors.As(e.Err, &failed) && failed.Path == e.Path {
		why = failed.Err.Error()
	}
	var denied *files.DeniedError
	if errors.As(e.Err, &denied) {
		why = denied.Why
	}
	return fmt.Sprintf("%s cannot be read now: %s", e.Path, why)
}

func (e *UnreadError) Unwrap() error { return e.Err }

// Is implements errors.Is.
func (e *UnreadError) Is(target error) bool {
	return target == events.ErrUnreadable || e.readOnly && target == events.ErrReadOnly
}

// Advice says what to do.
func (e *UnreadError) Advice() string {
	goesOn := "; what is stored may be whole: the server tries again every second and recovers by itself"
	if !e.again {
		goesOn = "; what is stored may be whole: then start the server again"
	}
	var denied *files.DeniedError
	if errors.As(e.Err, &denied) {
		return denied.Next + goesOn
	}
	return "look for the disk's errors in the system's log (`dmesg`), and make the disk readable" + goesOn
}

// reopeningError means that a reopen of the store has taken longer than a call may take. events.ErrUnreadable matches
// it.
type reopeningError struct {
	waited time.Duration
}

func (e *reopeningError) Error() string {
	return fmt.Sprintf("the server reopens its store, which has taken more than %s; its disk may be overloaded or hang",
		e.waited)
}

func (*reopeningError) Is(target error) bool { return target == events.ErrUnreadable }

// unread returns an error of reading the store as an *UnreadError. path is used for errors that name none.
func unread(path string, err error) *UnreadError {
	var known *UnreadError
	if errors.As(err, &known) {
		return known
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		path = failed.Path
	}
	path = disk.Shown(path)
	return &UnreadError{Path: path, Err: files.Explain(path, files.ToRead, err), again: true}
}

// failedToRead reports whether an error is a failed read or stat. Content that was read but cannot be used gives other
// errors.
func failedToRead(err error) bool {
	if all, several := err.(interface{ Unwrap() []error }); several { //nolint:errorlint // each one is examined
		return slices.ContainsFunc(all.Unwrap(), failedToRead)
	}
	var failed *fs.PathError
	var known *UnreadError
	return errors.As(err, &known) ||
		errors.As(err, &failed) && !errors.Is(err, errNoFile) && !errors.Is(err, errTooLong) && !files.Gone(err)
}

// openUnread opens, without a server, what can be read of a store.
func (b *Bus) openUnread(ctx context.Context, why *UnreadError) error {
	found, err := openFiles(ctx, b.embedded.dir)
	if err != nil {
		return err
	}
	if err := found.readAsides(ctx); err != nil {
		return errors.Join(err, found.Close())
	}
	b.files.Store(found)
	b.options.Logger.Error("a part of the store cannot be read; trying again every second", "why", why)
	readOnly := *why
	readOnly.readOnly = true
	var damage error = &readOnly
	b.damage.CompareAndSwap(nil, &damage)
	return nil
}

// AwaitReadable returns nil once a store that could not be read when it was opened can be read: it can then be
// reopened. It checks at every tick. For a store that could be read from the start it waits for ctx and returns its
// error.
func (b *Bus) AwaitReadable(ctx context.Context, tick <-chan time.Time) error {
	var why *UnreadError
	if damage := b.Damage(); damage == nil || !errors.As(damage, &why) || !why.again {
		<-ctx.Done()
		return ctx.Err()
	}
	for {
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := readWhole(why.Path)
		for _, stored := range storedStreams {
			if err == nil {
				_, _, err = b.embedded.readStream(ctx, stored)
			}
		}
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && failedToRead(err) {
			why = unread(why.Path, err) // the first path to check the next time
		}
	}
}

// readWhole reads a file to its end, or the names in a directory. It ignores a missing one: opening the store reports
// it.
func readWhole(path string) error {
	info, err := disk.Stat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	if info.IsDir() {
		_, err := disk.ReadDir(path)
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	buffer := make([]byte, readAhead)
	for at := int64(0); at < info.Size(); at += int64(len(buffer)) {
		if _, err := disk.ReadAt(f, buffer, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

package bus

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"maestro/internal/disk"
)

// readFailed handles the error of reading the files of a running store, and returns it as an error of package bus.
// Nothing is written while a part of the store cannot be read: the mender checks it again every second. A file that is
// no longer a plain file ends the writes for good.
func (b *Bus) readFailed(ctx context.Context, err error) error {
	if err == nil || b.embedded == nil || ctx.Err() != nil {
		return err
	}
	var failed *fs.PathError
	if errors.Is(err, errNoFile) && errors.As(err, &failed) {
		return b.damaged(lostPlace(disk.Shown(failed.Path)))
	}
	if !failedToRead(err) {
		return err
	}
	why := unread(b.embedded.dir, err)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) { // the disk is not to blame
		return why
	}
	m := &b.mender
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return why
	}
	if m.unread.Swap(why) == nil {
		b.options.Logger.Error("a part of the store cannot be read; nothing is written until it can be", "why", why)
		if m.stop == nil {
			m.stop = make(chan struct{})
		}
		m.done.Go(b.lookAgain)
	}
	return why
}

// lookAgain returns when the part of the store that could not be read can be read.
func (b *Bus) lookAgain() {
	m := &b.mender
	for {
		select {
		case <-time.After(mendEvery):
		case <-m.stop:
			return
		}
		why := m.unread.Load()
		if err := readWhole(why.Path); failedToRead(err) {
			continue
		}
		if m.unread.CompareAndSwap(why, nil) {
			b.options.Logger.Info("the store can be read again", "path", why.Path)
			return
		}
	}
}

// unreadable returns which part of a running store cannot be read now, or nil.
func (b *Bus) unreadable() error {
	if why := b.mender.unread.Load(); why != nil {
		return why
	}
	return nil
}

// mayWrite returns why nothing may be written to a stream now, or nil.
func (b *Bus) mayWrite(stream string) error {
	return errors.Join(b.Damage(), b.room.check(), b.unreadable(), b.watch.answers(stream))
}

package home

import (
	"context"
	"errors"
	"os"
	"path"
	"time"

	"maestro/internal/files"
)

// mailLock is locked by the process that shows a session its mail.
const mailLock = "mail.lock"

// mailPause is the time between two attempts to take the lock.
const mailPause = 5 * time.Millisecond

// LockMail waits until no other process of this machine shows the session its mail. The operating system releases the
// lock when this process dies. The caller checks the session's id, and calls release.
func (h *Home) LockMail(ctx context.Context, session string) (release func(), err error) {
	dir, err := h.makeSessionDir(session)
	if err != nil {
		return nil, err
	}
	lock, err := h.root.OpenFile(path.Join(dir, mailLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		switch err := files.Lock(lock); {
		case err == nil:
			return func() { _ = lock.Close() }, nil
		case !errors.Is(err, files.ErrHeld):
			return nil, errors.Join(err, lock.Close())
		}
		select {
		case <-time.After(mailPause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), lock.Close())
		}
	}
}

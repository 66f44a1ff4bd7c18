package home

import (
	"errors"
	"os"
	"path"

	"maestro/internal/files"
)

// commandLock is locked by every process that runs a command of a session of this machine.
const commandLock = "commands.lock"

// RunningCommand is the mark that a command of a session runs. The operating system releases its lock when this process
// dies.
type RunningCommand struct{ lock *os.File }

// MarkRunning notes that a command of a session runs. The caller checks the session's id, and calls Release.
func (h *Home) MarkRunning(session string) (*RunningCommand, error) {
	dir, err := h.makeSessionDir(session)
	if err != nil {
		return nil, err
	}
	lock, err := h.root.OpenFile(path.Join(dir, commandLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := files.LockShared(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &RunningCommand{lock}, nil
}

// Release gives up the mark, and reports whether another command of the session still runs on this machine.
func (r *RunningCommand) Release() (others bool) {
	others = errors.Is(files.Lock(r.lock), files.ErrHeld)
	_ = r.lock.Close() // it was only locked
	return others
}

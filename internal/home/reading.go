package home

import (
	"errors"
	"io/fs"
	"os"

	"maestro/internal/files"
)

// Reading is a home that this process reads. No server can use it meanwhile, but others may read it too. Nothing is
// written.
type Reading struct {
	*Home
	file *os.File // nil if the home never had a server, or its lock file was deleted
	held *os.File // the directory
}

// LockForReading excludes servers until Release. It fails with *HeldError when one has the home.
func (h *Home) LockForReading() (*Reading, error) {
	f, dir, err := h.take(files.Open, os.O_RDONLY, files.LockShared)
	for try := 1; errors.Is(err, files.ErrHeld) && try < lockTries; try++ { // as in Lock
		_ = f.Close()
		pause(lockPause)
		f, dir, err = h.take(files.Open, os.O_RDONLY, files.LockShared)
	}
	if errors.Is(err, fs.ErrNotExist) {
		f, err = h.takeDir(files.LockShared)
		if err == nil {
			return &Reading{Home: h, held: f}, nil
		}
	}
	switch {
	case errors.Is(err, files.ErrHeld):
		return nil, errors.Join(h.holder(f), f.Close())
	case err != nil:
		return nil, err
	}
	return &Reading{Home: h, file: f, held: dir}, nil
}

// Secrets reads the home's secrets, and creates none.
func (r *Reading) Secrets() (Secrets, error) {
	token, err := r.AdminToken()
	if err != nil {
		return Secrets{}, err
	}
	key, err := r.serverKey()
	return Secrets{AdminToken: token, ServerKey: key}, err
}

// Release releases the home and closes it.
func (r *Reading) Release() error {
	err := errors.Join(r.held.Close(), r.Close())
	if r.file == nil {
		return err
	}
	return errors.Join(r.file.Close(), err)
}

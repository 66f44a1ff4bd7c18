package home

import (
	"errors"
	"io/fs"
	"os"

	"maestro/internal/files"
)

// Reading is a home that this process reads: no server has it meanwhile, and others may read it too. Nothing is
// written.
type Reading struct {
	*Home
	file *os.File // nil if no server ever had the home, or its lock was deleted
	held *os.File // the directory
}

// LockForReading keeps servers out until Release. It fails with *HeldError when one has the home.
func (h *Home) LockForReading() (*Reading, error) {
	f, dir, err := h.take(files.Open, os.O_RDONLY, files.LockShared)
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

// Secrets reads the home's secrets, and makes none.
func (r *Reading) Secrets() (Secrets, error) {
	token, err := r.AdminToken()
	if err != nil {
		return Secrets{}, err
	}
	key, err := r.serverKey()
	return Secrets{AdminToken: token, ServerKey: key}, err
}

// Release returns the home back, and ends the use of it.
func (r *Reading) Release() error {
	err := errors.Join(r.held.Close(), r.Close())
	if r.file == nil {
		return err
	}
	return errors.Join(r.file.Close(), err)
}

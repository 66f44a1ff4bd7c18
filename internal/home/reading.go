package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"maestro/internal/files"
)

// Reading is a home that this process reads: no server has it meanwhile, and others may read it too. Nothing is
// written.
type Reading struct {
	*Home
	file *os.File // nil if no server ever had the home
}

// LockForReading keeps servers out until Release. It fails with *HeldError when one has the home.
func (h *Home) LockForReading() (*Reading, error) {
	f, err := files.Open(h.root, lockFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return &Reading{Home: h}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock the home: %w", h.explained(lockFile, err))
	}
	switch err := lockShared(f); {
	case errors.Is(err, errHeld):
		return nil, errors.Join(h.holder(f), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock the home %s: %w", h.dir, err), f.Close())
	}
	return &Reading{Home: h, file: f}, nil
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

// Release gives the home back, and ends the use of it.
func (r *Reading) Release() error {
	if r.file == nil {
		return r.Close()
	}
	return errors.Join(r.file.Close(), r.Close())
}

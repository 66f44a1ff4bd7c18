package files

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"maestro/internal/disk"
)

// SyncDir syncs the entries of a directory.
func SyncDir(path string) error {
	dir, err := disk.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(SyncNames(dir), dir.Close())
}

// ReadError says that the source of a copy cannot be read; the copy is not at fault. Match it with errors.As.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }

func (e *ReadError) Unwrap() error { return e.Err }

// reading is a file whose errors are *ReadError.
type reading struct{ file *os.File }

func (r reading) Read(p []byte) (int, error) {
	if err := disk.Check("read", r.file.Name()); err != nil {
		return 0, &ReadError{err}
	}
	n, err := r.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &ReadError{err}
	}
	return n, err
}

// Copy writes the rest of a file to a new one that only this user can read. It does not sync it.
func Copy(from *os.File, to string) error {
	out, err := disk.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, reading{from})
	return errors.Join(err, out.Close())
}

// TreeSize adds up the sizes of the regular files below a directory, in bytes. It ignores files that are removed
// meanwhile. With an error it also returns the size of what it could read.
func TreeSize(dir string) (size uint64, err error) {
	var failed error
	err = disk.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && entry.Type().IsRegular() {
			if info, err = entry.Info(); err == nil {
				size += uint64(info.Size()) //nolint:gosec // a size is not negative
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		return nil
	})
	return size, errors.Join(failed, err)
}

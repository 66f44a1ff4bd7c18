package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"maestro/internal/failure"
	"maestro/internal/files"
)

// OpenFile opens a regular file that a command reads; - is stdin. It never waits, as opening a pipe would.
func OpenFile(a *Run, file string) (io.Reader, func(), error) {
	if file == "-" {
		return a.Stdin, func() {}, nil
	}
	f, err := files.OpenInput(file)
	if err != nil {
		return nil, nil, notOpened(file, err)
	}
	return f, func() { _ = f.Close() }, nil
}

// CheckNamed fails unless a file is a readable regular file. It never waits, as opening a pipe would.
func CheckNamed(file string) error {
	f, err := files.OpenNamed(file)
	if err != nil {
		return notOpened(file, err)
	}
	return f.Close()
}

// notOpened returns the error for a file that could not be opened.
func notOpened(file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return Unreadable(file, err)
	}
	return &failure.Error{
		Code:    failure.NotFound,
		Message: fmt.Sprintf("There is no file %s", file),
		Err:     err,
		Why:     "no such file or directory",
		Next:    "check the name; it counts from " + workingDirectory(),
	}
}

func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		return "the working directory"
	}
	return dir
}

// Unreadable returns the error for an existing file that cannot be read.
func Unreadable(file string, err error) error {
	next := "name a file that you may read"
	if errors.As(err, new(*files.IrregularError)) {
		next = "name a regular file"
	}
	return &failure.Error{
		Status:  http.StatusBadRequest,
		Code:    failure.File,
		Message: fmt.Sprintf("The file %s cannot be read", file),
		Why:     files.Bare(err).Error(),
		Next:    next,
		Err:     err,
	}
}

// readInput reads a file, or with "-" stdin, up to one byte more than a limit.
func readInput(a *Run, file string, limit int64) ([]byte, error) {
	in, done, err := OpenFile(a, file)
	if err != nil {
		return nil, err
	}
	defer done()
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, Unreadable(file, err)
	}
	return content, nil
}

// reading remembers why a reader failed, to tell the two sides of a copy apart.
type reading struct {
	in  io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Absent refuses a file that exists.
func Absent(file string) error {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exists(file)
}

func exists(file string) error {
	return &failure.Error{
		Code:    failure.Conflict,
		Message: "The file " + file + " already exists, and is not overwritten",
		Next:    "choose another name, or move it away",
	}
}

// notWritten returns the error for a file that could not be written.
func notWritten(file string, err error) error {
	next := "choose a place that you can write to"
	if files.Full(err) {
		next = "make room on that disk, or name a file on another one"
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    failure.File,
		Message: "The file " + file + " could not be written",
		Why:     files.Bare(err).Error(),
		Next:    next,
		Err:     err,
	}
}

// WriteNew writes data from the server to a new file that only this user can read: completely, durably, or not at all.
func WriteNew(ctx context.Context, file string, from io.Reader) (size int64, err error) {
	if err := Absent(file); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // 0600
	if err != nil {
		return 0, notWritten(file, err) // the name of the temporary file means nothing to the user
	}
	defer func() { _ = os.Remove(f.Name()) }()
	sent := &reading{in: from}
	size, err = io.Copy(f, sent)
	switch {
	case err == nil:
		err = f.Sync()
	case sent.err != nil && ctx.Err() != nil:
		return 0, errors.Join(ctx.Err(), f.Close())
	case sent.err != nil:
		return 0, errors.Join(CutShort(err), f.Close())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, notWritten(file, err)
	}
	// A link fails where a rename would overwrite the file.
	err = os.Link(f.Name(), file)
	switch {
	case errors.Is(err, fs.ErrExist):
		return 0, exists(file)
	case err != nil: // a file system without links
		err = os.Rename(f.Name(), file)
	}
	if err == nil {
		err = files.SyncDir(filepath.Dir(file))
	}
	if err != nil {
		return 0, notWritten(file, err)
	}
	return size, nil
}

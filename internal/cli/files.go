package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"maestro/api/export"
	"maestro/bus"
	"maestro/internal/failure"
	"maestro/internal/files"
)

// open opens a file that a command was told to read; - is stdin.
func (a *Run) open(file string) (io.Reader, func(), error) {
	if file == "-" {
		return a.Stdin, func() {}, nil
	}
	f, err := os.Open(file)
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	switch {
	case err != nil:
		return nil, nil, notOpened(file, err)
	case info.IsDir():
		return nil, nil, errors.Join(unreadable(file, errors.New("it is a directory")), f.Close())
	}
	return f, func() { _ = f.Close() }, nil
}

// checkNamed fails unless a file is there, is a regular one and can be read. It never waits, as open does for a pipe.
func checkNamed(file string) error {
	f, err := files.OpenNamed(file)
	if err != nil {
		return notOpened(file, err)
	}
	return f.Close()
}

// notOpened is about a file that could not be opened.
func notOpened(file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return unreadable(file, err)
	}
	return &failure.Error{
		Status: http.StatusNotFound, Code: "NOT_FOUND", Message: fmt.Sprintf("There is no file %s", file), Err: err,
		Why: "no such file or directory", Next: "check the name; it counts from " + workingDirectory(),
	}
}

func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		return "the working directory"
	}
	return dir
}

// unreadable is about a file that is there and cannot be read.
func unreadable(file string, err error) error {
	return &failure.Error{
		Status: http.StatusBadRequest, Code: "FILE", Message: fmt.Sprintf("The file %s cannot be read", file),
		Why: bare(err).Error(), Next: "name a file that you may read", Err: err,
	}
}

// bare takes away the operation and the path, which the message has.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	var irregular *files.IrregularError
	switch {
	case errors.As(err, &irregular):
		return errors.New("it " + irregular.Why)
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// readInput reads a file, or with "-" stdin, up to one byte more than a limit.
func (a *Run) readInput(file string, limit int64) ([]byte, error) {
	in, done, err := a.open(file)
	if err != nil {
		return nil, err
	}
	defer done()
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, unreadable(file, err)
	}
	return content, nil
}

// mustBeExport refuses a file that is no export by its first byte. what names the command that reads exports only.
func mustBeExport(file string, in *bufio.Reader, what string) error {
	if _, err := in.Peek(1); errors.Is(err, io.EOF) { // of an empty log
		return nil
	}
	exported, err := isExport(in)
	if err != nil {
		return unreadable(file, err)
	}
	if exported {
		return nil
	}
	if first, err := in.Peek(2); err == nil && bytes.Equal(first, []byte{0x1f, 0x8b}) { // gzip
		return &failure.Error{
			Status: http.StatusUnprocessableEntity, Code: "FILE", Message: file + " is a backup, or another archive",
			Why: what + " reads exports only",
			Next: "make a home of it with `maestro restore " + quoted(file) +
				" --home DIR`, and ask the server of that home",
		}
	}
	return notAnExport(file, errors.New("it does not begin as an export does"))
}

func notAnExport(file string, err error) error {
	return &failure.Error{
		Status: http.StatusUnprocessableEntity, Code: "FILE", Err: err,
		Message: "The file " + file + " is not an export", Why: err.Error(),
		Next: "name a file that `maestro audit export` wrote",
	}
}

// notWhole says what is wrong with a backup or an export; other errors stay as they are.
func notWhole(file string, err error) error {
	var backup *bus.BackupError
	var exported *export.DamageError
	f := &failure.Error{Status: http.StatusUnprocessableEntity, Code: "FILE", Err: err, Next: "use another backup or export"}
	switch {
	case errors.As(err, &backup) && backup.Foreign:
		f.Message = fmt.Sprintf("The file %s is neither a backup nor an export", file)
		f.Next = "name a file that `maestro backup` or `maestro audit export` wrote"
		f.Why = fmt.Sprintf("it begins neither as an archive nor as a line of JSON (%s)", backup.Err)
		if backup.Entry != "" {
			f.Why = fmt.Sprintf("it is an archive of something else: %s", backup.Err)
		}
		if errors.Is(backup.Err, io.EOF) {
			f.Why = "it is empty"
		}
	case errors.As(err, &backup) && errors.Is(backup.Err, bus.ErrRepacked):
		f.Message = fmt.Sprintf("The backup %s was unpacked and packed again", file)
		f.Why = fmt.Sprintf("%s; %s is not where it should be", backup.Err, backup.Entry)
		f.Next = "use the file as `maestro backup` wrote it"
	case errors.As(err, &backup):
		f.Message, f.Why = fmt.Sprintf("The backup %s is damaged", file), backup.Err.Error()
		if errors.Is(backup.Err, io.ErrUnexpectedEOF) {
			f.Why = "it is cut short"
		}
		if backup.Entry != "" {
			f.Why = backup.Entry + ": " + f.Why
		}
	case errors.As(err, &exported):
		f.Message, f.Why = fmt.Sprintf("The export %s cannot be used", file), exported.Why
		if exported.Part {
			f.Next = "export the whole log: `maestro audit export FILE` without --project"
		}
	default:
		return err
	}
	return f
}

// reading remembers why a reader failed, so that a copy can tell who failed.
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

// absent refuses a file that is there already.
func absent(file string) error {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exists(file)
}

func exists(file string) error {
	return &failure.Error{
		Status: http.StatusConflict, Code: "CONFLICT",
		Message: "The file " + file + " is there already, and nothing is overwritten",
		Next:    "choose another name, or move it away",
	}
}

// notWritten says why a file could not be written.
func notWritten(file string, err error) error {
	next := "name a place that you may write to"
	if bus.IsFull(err) {
		next = "make room on that disk, or name a file on another one"
	}
	return &failure.Error{
		Status: http.StatusInternalServerError, Code: "FILE", Message: "The file " + file + " could not be written",
		Why: bare(err).Error(), Next: next, Err: err,
	}
}

// writeNew writes what comes from the server into a new file that only this user can read: whole, durably, or not at
// all.
func writeNew(ctx context.Context, file string, from io.Reader) (size int64, err error) {
	if err := absent(file); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // 0600
	if err != nil {
		return 0, notWritten(file, err) // the name of the temporary file says nothing to anybody
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
		return 0, errors.Join(cutShort(err), f.Close())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, notWritten(file, err)
	}
	// A link fails where a rename would overwrite.
	err = os.Link(f.Name(), file)
	switch {
	case errors.Is(err, fs.ErrExist):
		return 0, exists(file)
	case err != nil: // a file system without links
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return 0, notWritten(file, err)
	}
	return size, nil
}

// diskFull says that the disk of a home has no room.
func DiskFull(dir string, err error, next string) error {
	return &failure.Error{
		Status: http.StatusInsufficientStorage, Code: "DISK_FULL", Message: "The disk of the home " + dir + " is full",
		Why: whyFull(dir, err), Next: next, Err: err,
	}
}

// isReadOnly reports whether an error is about a disk that cannot be written to.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// onReadOnly says that the disk of a home cannot be written to.
func OnReadOnly(dir string, err error, next string) error {
	return &failure.Error{
		Status: http.StatusInternalServerError, Code: "READ_ONLY_DISK",
		Message: "The disk of the home " + dir + " cannot be written to",
		Why:     "it is mounted read-only", Next: next, Err: err,
	}
}

func whyFull(dir string, err error) string {
	if free, known := bus.FreeBytes(existing(dir)); known && free < bus.Reserve {
		return fmt.Sprintf("%d KiB are free on it, and %d are needed", free>>10, bus.Reserve>>10)
	}
	var reason syscall.Errno
	if errors.As(err, &reason) {
		return reason.Error()
	}
	return bare(err).Error()
}

// existing gives the part of a path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"maestro/internal/disk"
)

// IrregularError says that a name is not a usable regular file. Match it with errors.As.
type IrregularError struct {
	// Name is the path in its root.
	Name string
	Why  string
	// Passing says that a retry may find something else: the name was replaced while it was being opened.
	Passing bool
}

func (e *IrregularError) Error() string { return e.Name + " " + e.Why }

// Open opens an existing regular file. flag must not have os.O_CREATE or os.O_TRUNC.
func Open(root *disk.Root, name string, flag int) (*os.File, error) {
	return open(root, name, flag, fs.FileMode.IsRegular, "is not a regular file")
}

// OpenNamed opens a regular file that the user named, for reading. It follows links. Anything else fails at once with
// *IrregularError: opening a pipe would wait for the process at its other end, and opening a device can change it.
func OpenNamed(path string) (*os.File, error) {
	info, err := disk.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := disk.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err = disk.FileStat(f)
	if err == nil {
		err = regular(path, info) // it may have been replaced
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenInput is OpenNamed, and also opens what this process got open from the one that started it: /dev/stdin and
// /dev/fd/N, as shells name the output of another command. The end of a pipe without writers is its end as a file.
func OpenInput(path string) (*os.File, error) {
	if !inherited(path) {
		return OpenNamed(path)
	}
	f, err := disk.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := disk.FileStat(f)
	if err == nil && info.IsDir() {
		err = regular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// inherited reports whether a path names a descriptor of this process.
func inherited(path string) bool {
	dir, number := filepath.Split(path)
	if path == "/dev/stdin" {
		return true
	}
	_, err := strconv.ParseUint(number, 10, 31)
	return err == nil && (dir == "/dev/fd/" || dir == "/proc/self/fd/")
}

// regular returns the error for anything but a regular file.
func regular(path string, info fs.FileInfo) error {
	why := "is not a regular file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		why = "is a directory"
	case mode&fs.ModeNamedPipe != 0:
		why = "is a named pipe, not a regular file"
	case mode&fs.ModeSocket != 0:
		why = "is a socket, not a regular file"
	case mode&fs.ModeDevice != 0:
		why = "is a device, not a regular file"
	}
	return &IrregularError{Name: path, Why: why}
}

// OpenDir opens a directory, to list or sync it.
func OpenDir(root *disk.Root, name string) (*os.File, error) {
	return open(root, name, os.O_RDONLY, fs.FileMode.IsDir, "is not a directory")
}

func open(root *disk.Root, name string, flag int, is func(fs.FileMode) bool, why string) (*os.File, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !is(seen.Mode()) {
		return nil, &IrregularError{Name: name, Why: why}
	}
	f, err := root.OpenFile(name, flag|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := disk.FileStat(f)
	if err == nil && !os.SameFile(seen, info) {
		err = &IrregularError{Name: name, Why: "was replaced while it was opened", Passing: true}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenOrCreate opens a regular file, or creates an empty one that only this user can read.
func OpenOrCreate(root *disk.Root, name string, flag int) (*os.File, error) {
	for range 10 { // somebody else may create or remove it in between
		f, err := Open(root, name, flag)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = root.OpenFile(name, flag|os.O_CREATE|os.O_EXCL, 0o600) // O_EXCL follows no link
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, &IrregularError{Name: name, Why: "is created and removed repeatedly"}
}

// Create creates an empty file that only this user can read, replacing any file, link or pipe with the same name.
func Create(root *disk.Root, name string) (*os.File, error) {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Read returns the content of a regular file. It fails with *IrregularError if it has more than most bytes.
func Read(root *disk.Root, name string, most int64) ([]byte, error) {
	f, err := Open(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = &IrregularError{Name: name, Why: fmt.Sprintf("has more than %d bytes", most)}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return content, nil
}

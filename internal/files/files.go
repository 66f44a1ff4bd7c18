package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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

// OpenNamed opens a regular file that the user named, for reading. It follows links.
func OpenNamed(path string) (*os.File, error) {
	f, err := disk.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := disk.FileStat(f)
	if err == nil && !info.Mode().IsRegular() {
		err = &IrregularError{Name: path, Why: "is not a regular file"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenInput is OpenNamed, but also opens what this process already holds: its stdin and the pipes that a shell passes
// to it, such as those of <(command). A pipe in the file system is refused: without a writer, opening it would never
// end.
func OpenInput(path string) (*os.File, error) {
	f, err := OpenNamed(path)
	var irregular *IrregularError
	if !errors.As(err, &irregular) || !held(path) {
		return f, err
	}
	return disk.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
}

// held reports whether a path names a file that this process has open.
func held(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
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

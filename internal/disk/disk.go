// Package disk has the file operations of package os that starting and reopening the store use. A test can make each of
// them fail, as a disk does; see Inject.
package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// injected is called before each operation; nil except in tests.
var injected atomic.Pointer[func(operation, path string) error]

// Inject makes every operation call fail first, and fail with its error. It is for tests, which call restore at their
// end.
func Inject(fail func(operation, path string) error) (restore func()) {
	injected.Store(&fail)
	return func() { injected.Store(nil) }
}

// Check returns the error that a test injects into an operation, nil outside tests.
func Check(operation, path string) error {
	fail := injected.Load()
	if fail == nil {
		return nil
	}
	if err := (*fail)(operation, path); err != nil {
		return &fs.PathError{Op: operation, Path: Shown(path), Err: err}
	}
	return nil
}

// Open is os.Open.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := Check("open", path); err != nil {
		return nil, err
	}
	f, err := given(os.OpenFile(path, flag, mode))
	if err != nil {
		return nil, err
	}
	return underRealName(f)
}

// CreateTemp is os.CreateTemp.
func CreateTemp(dir, pattern string) (*os.File, error) {
	if err := Check("open", dir); err != nil {
		return nil, err
	}
	f, err := given(os.CreateTemp(dir, pattern))
	if err != nil {
		return nil, err
	}
	return underRealName(f)
}

// ReadAt is f.ReadAt.
func ReadAt(f *os.File, buffer []byte, at int64) (int, error) {
	if err := Check("read", f.Name()); err != nil {
		return 0, err
	}
	return given(f.ReadAt(buffer, at))
}

// FileStat is f.Stat.
func FileStat(f *os.File) (fs.FileInfo, error) {
	if err := Check("stat", f.Name()); err != nil {
		return nil, err
	}
	return given(f.Stat())
}

// Sync is f.Sync.
func Sync(f *os.File) error {
	if err := Check("sync", f.Name()); err != nil {
		return err
	}
	return named(f.Sync())
}

// Stat is os.Stat.
func Stat(path string) (fs.FileInfo, error) {
	if err := Check("stat", path); err != nil {
		return nil, err
	}
	return given(os.Stat(path))
}

// Lstat is os.Lstat.
func Lstat(path string) (fs.FileInfo, error) {
	if err := Check("lstat", path); err != nil {
		return nil, err
	}
	return given(os.Lstat(path))
}

// ReadDir is os.ReadDir.
func ReadDir(path string) ([]fs.DirEntry, error) {
	if err := Check("readdir", path); err != nil {
		return nil, err
	}
	return given(os.ReadDir(path))
}

// Rename is os.Rename.
func Rename(from, to string) error {
	if err := Check("rename", from); err != nil {
		return err
	}
	return named(os.Rename(from, to))
}

// Link is os.Link.
func Link(from, to string) error {
	if err := Check("link", from); err != nil {
		return err
	}
	return named(os.Link(from, to))
}

// Remove is os.Remove.
func Remove(path string) error {
	if err := Check("remove", path); err != nil {
		return err
	}
	return named(os.Remove(path))
}

// RemoveAll is os.RemoveAll.
func RemoveAll(path string) error {
	if err := Check("remove", path); err != nil {
		return err
	}
	return named(os.RemoveAll(path))
}

// Mkdir is os.Mkdir.
func Mkdir(path string, mode fs.FileMode) error {
	if err := Check("mkdir", path); err != nil {
		return err
	}
	return named(os.Mkdir(path, mode))
}

// MkdirAll is os.MkdirAll.
func MkdirAll(path string, mode fs.FileMode) error {
	if err := Check("mkdir", path); err != nil {
		return err
	}
	return named(os.MkdirAll(path, mode))
}

// Truncate is os.Truncate.
func Truncate(path string, size int64) error {
	if err := Check("truncate", path); err != nil {
		return err
	}
	return named(os.Truncate(path, size))
}

// MkdirTemp is os.MkdirTemp.
func MkdirTemp(dir, pattern string) (string, error) {
	if err := Check("mkdir", dir); err != nil {
		return "", err
	}
	return given(os.MkdirTemp(dir, pattern))
}

// ReadFile is os.ReadFile.
func ReadFile(path string) ([]byte, error) {
	if err := Check("read", path); err != nil {
		return nil, err
	}
	return given(os.ReadFile(path))
}

// WalkDir is filepath.WalkDir; visit receives an injected error as an error of reading the visited entry.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = Check("walk", path)
		}
		return visit(path, entry, named(err))
	})
}

// Symlink is os.Symlink.
func Symlink(leadsTo, path string) error {
	if err := Check("link", path); err != nil {
		return err
	}
	return named(os.Symlink(leadsTo, path))
}

// WriteFile is os.WriteFile.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	if err := Check("write", path); err != nil {
		return err
	}
	return named(os.WriteFile(path, content, mode))
}

// Chmod is os.Chmod.
func Chmod(path string, mode fs.FileMode) error {
	if err := Check("chmod", path); err != nil {
		return err
	}
	return named(os.Chmod(path, mode))
}

// Chtimes is os.Chtimes.
func Chtimes(path string, access, change time.Time) error {
	if err := Check("chtimes", path); err != nil {
		return err
	}
	return named(os.Chtimes(path, access, change))
}

package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// GoneError says that a home that this process holds is no longer where its path leads.
type GoneError struct {
	// Path is the directory or file that is gone or was replaced.
	Path string
	// Replaced says that there is another one in its place.
	Replaced bool
}

func (e *GoneError) Error() string {
	if e.Replaced {
		return fmt.Sprintf("%s is not the one that this server opened: it was moved, or replaced", e.Path)
	}
	return fmt.Sprintf("%s is gone: it was moved or deleted while this server was using it", e.Path)
}

// Here fails with *GoneError when the home's path, or that of its lock, no longer leads to what this process holds:
// the home was moved, deleted or replaced. It writes nothing.
func (l *Lock) Here() error {
	held, err := l.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at the home: %w", err)
	}
	if err := same(l.dir, held); err != nil {
		return err
	}
	if held, err = l.file.Stat(); err != nil {
		return fmt.Errorf("look at the home's lock: %w", err)
	}
	return same(filepath.Join(l.dir, lockFile), held)
}

// Through returns a path to a file of the home that stays valid wherever the home is moved, and leads nowhere once it
// is deleted. On a system without such paths it returns the path by which the home was opened.
func (l *Lock) Through(path string) string {
	within, err := filepath.Rel(l.dir, path)
	if err != nil {
		return path
	}
	held := "/proc/self/fd/" + strconv.Itoa(int(l.held.Fd()))
	ours, err := l.root.Stat(".")
	if info, statErr := disk.Stat(held); err != nil || statErr != nil || !os.SameFile(info, ours) {
		return path
	}
	return filepath.Join(held, within)
}

// Identity identifies a directory independently of its path.
type Identity struct {
	path string
	info fs.FileInfo
}

// IdentityOf records the present identity of a directory.
func IdentityOf(path string) (Identity, error) {
	info, err := disk.Stat(path)
	return Identity{path, info}, err
}

// Here fails with *GoneError when the path no longer leads to the directory.
func (i Identity) Here() error { return same(i.path, i.info) }

func same(path string, held fs.FileInfo) error {
	now, err := disk.Stat(path)
	switch {
	case files.Gone(err):
		_, missing := disk.Lstat(path)
		// There is a link to nothing or to itself, or one above the path.
		replaced := missing == nil || !errors.Is(missing, fs.ErrNotExist)
		return &GoneError{Path: path, Replaced: replaced}
	case err != nil:
		return fmt.Errorf("look at the home: %w", err)
	// a new file may reuse the number of a deleted one
	case !os.SameFile(now, held), now.Mode().Type() != held.Mode().Type():
		return &GoneError{Path: path, Replaced: true}
	}
	return nil
}

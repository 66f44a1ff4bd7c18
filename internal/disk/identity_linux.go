package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenRootItself opens a directory by its absolute path, no part of which may be a link.
func OpenRootItself(dir string) (*Root, error) {
	if err := Check("open", dir); err != nil {
		return nil, err
	}
	seen, err := seenAt(dir)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	root, err := given(os.OpenRoot(dir + asDir))
	if err != nil {
		return nil, err
	}
	return same(&Root{root, dir}, seen)
}

// seenAt describes a directory that is reached without a link. The directories above it need not be readable.
func seenAt(dir string) (fs.FileInfo, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open(string(filepath.Separator), flags, 0)
	for part := range strings.SplitSeq(filepath.Clean(dir), string(filepath.Separator)) {
		if err != nil {
			return nil, err
		}
		if part == "" {
			continue
		}
		next, failed := unix.Openat(at, part, flags, 0)
		if err = unix.Close(at); failed != nil {
			return nil, failed
		}
		at = next
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(at), dir)
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

// IdentityOf returns the identity of a file or directory.
func IdentityOf(info fs.FileInfo) Identity {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{stat.Dev, stat.Ino}
}

// ChmodDir changes the mode of a directory, if it is the one with an identity.
func (r *Root) ChmodDir(name string, is Identity, mode fs.FileMode) error {
	if err := r.check("chmod", name); err != nil {
		return err
	}
	f, err := r.root.OpenFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return r.named(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !IdentityOf(info).Is(is):
		err = &fs.PathError{Op: "chmod", Path: filepath.Join(r.name, name), Err: unix.ESTALE}
	default: // the descriptor cannot change it: it was opened without permission to read
		err = named(os.Chmod(held(f), mode))
	}
	return errors.Join(err, f.Close())
}

// Path returns where the directory is now; "" if that is not known.
func (r *Root) Path() string {
	f, err := r.root.Open(".")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only looked at
	path, err := os.Readlink(held(f))
	if err != nil {
		return ""
	}
	return path
}

// held is a path of what is open.
func held(f *os.File) string { return heldPrefix + strconv.Itoa(int(f.Fd())) }

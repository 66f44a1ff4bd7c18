//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"maestro/internal/disk"
)

// nonBlocking keeps opening a pipe from waiting for the process at its other end.
const nonBlocking = unix.O_NONBLOCK

// Lock locks an open file or directory for this process alone, until it is closed or the process ends. It fails at once
// with ErrHeld if another process has locked it, and with errors.ErrUnsupported if the system has no such locks.
func Lock(f *os.File) error { return lock(f, unix.LOCK_EX) }

// LockShared is Lock, but shared.
func LockShared(f *os.File) error { return lock(f, unix.LOCK_SH) }

// Unlock releases a lock at once. Without it, closing the file does so only when no process that was just forked has a
// copy of the file any more.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func lock(f *os.File, how int) error {
	if err := disk.Check("lock", f.Name()); err != nil {
		return err
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		}
		return err
	}
}

// LockDir opens a directory of this user and locks it, as Lock does; it follows no link. With wait it waits until
// another holder is done.
func LockDir(path string, wait bool) (*os.File, error) {
	dir, err := disk.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := disk.FileStat(dir)
	if err == nil {
		err = Owned(info)
	}
	if err == nil && wait {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX)
	} else if err == nil {
		err = Lock(dir)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// Owned returns an error with the owner of a file that is not this user's.
func Owned(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d, and this is user %d", stat.Uid, os.Geteuid())
	}
	return nil
}

// Shared reports whether anybody but its owner has any permission on a file.
func Shared(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// SyncNames syncs the entries of an open directory.
func SyncNames(dir *os.File) error { return disk.Sync(dir) }

// Links counts the names of a file, 1 if unknown.
func Links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // its type differs between systems
	}
	return 1
}

// SameFileSystem reports whether two files are on one file system, so that a rename between them works, if that is
// known.
func SameFileSystem(a, b fs.FileInfo) bool {
	one, ok := a.Sys().(*syscall.Stat_t)
	other, too := b.Sys().(*syscall.Stat_t)
	return !ok || !too || one.Dev == other.Dev
}

// mayCreate returns why this user may not create files in a directory; the disk may be read-only.
func mayCreate(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// allowed reports whether this user may access what a path leads to.
func allowed(path string, read, write, enter bool) bool {
	mode := uint32(unix.F_OK)
	for bit, wanted := range map[uint32]bool{unix.R_OK: read, unix.W_OK: write, unix.X_OK: enter} {
		if wanted {
			mode |= bit
		}
	}
	return unix.Access(path, mode) == nil
}

//go:build !unix

package files

import (
	"errors"
	"io/fs"
	"os"
)

const nonBlocking = 0

// Lock fails: this system has no locks that are released with their process.
func Lock(*os.File) error { return errors.ErrUnsupported }

// LockShared fails, as Lock does.
func LockShared(*os.File) error { return errors.ErrUnsupported }

// Unlock does nothing: there are no locks.
func Unlock(*os.File) error { return nil }

// LockDir fails, as Lock does.
func LockDir(string, bool) (*os.File, error) { return nil, errors.ErrUnsupported }

// Owned leaves permissions to the system.
func Owned(fs.FileInfo) error { return nil }

// Shared leaves that to the system too.
func Shared(fs.FileInfo) bool { return false }

// SyncNames does nothing: this system makes names durable itself.
func SyncNames(*os.File) error { return nil }

// Links reports a single name for every file.
func Links(fs.FileInfo) uint64 { return 1 }

// mayCreate leaves permissions to the system.
func mayCreate(string) error { return nil }

// allowed leaves permissions to the system.
func allowed(string, bool, bool, bool) bool { return true }

// SameFileSystem reports true: this system does not tell.
func SameFileSystem(_, _ fs.FileInfo) bool { return true }

//go:build !unix

package files

import (
	"errors"
	"io/fs"
	"os"
)

const nonBlocking = 0

// Lock fails: this system has no locks that a dead process lets go of.
func Lock(*os.File) error { return errors.ErrUnsupported }

// LockShared fails, as Lock does.
func LockShared(*os.File) error { return errors.ErrUnsupported }

// LockDir fails, as Lock does.
func LockDir(string, bool) (*os.File, error) { return nil, errors.ErrUnsupported }

// Owned leaves to the system who may do what.
func Owned(fs.FileInfo) error { return nil }

// Shared leaves that to the system too.
func Shared(fs.FileInfo) bool { return false }

// SyncNames does nothing: this system keeps names itself.
func SyncNames(*os.File) error { return nil }

// Links takes every file for one with one name.
func Links(fs.FileInfo) uint64 { return 1 }

// allowed leaves it to the system to say what is wrong.
func allowed(string, bool, bool, bool) bool { return true }

// SameFileSystem reports true: this system does not tell.
func SameFileSystem(_, _ fs.FileInfo) bool { return true }

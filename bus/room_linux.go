package bus

import "golang.org/x/sys/unix"

// freeBytes returns the room that this user may still fill.
func freeBytes(dir string) (uint64, bool) {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return 0, false
	}
	return at.Bavail * uint64(at.Bsize), true //nolint:gosec // a block size is positive
}

// freeFiles returns how many files can still be created; false if the file system has no limit. Tests replace it.
var freeFiles = func(dir string) (uint64, bool) {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return 0, false
	}
	return at.Ffree, at.Files > 0
}

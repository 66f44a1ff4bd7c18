//go:build linux || darwin

package preflight

import "golang.org/x/sys/unix"

// free returns how many bytes this user can still write to the disk of a path, if that is known.
func free(path string) (bytes uint64, known bool) {
	var disk unix.Statfs_t
	if unix.Statfs(path, &disk) != nil || disk.Bsize <= 0 {
		return 0, false
	}
	return disk.Bavail * uint64(disk.Bsize), true
}

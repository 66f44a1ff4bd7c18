package bus

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"maestro/internal/disk"
)

// dropCache evicts a tree's files from the page cache, so that reads show what is on disk. Dirty pages stay: sync
// first.
func dropCache(dir string) error {
	return disk.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreMissing(err)
		}
		f, err := disk.Open(path)
		if err != nil {
			return ignoreMissing(err)
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) //nolint:gosec // a file descriptor is small
		return errors.Join(err, f.Close())
	})
}

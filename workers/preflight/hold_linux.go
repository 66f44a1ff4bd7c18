package preflight

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// held is a directory that stays the same one, whatever its path comes to mean.
type held struct{ dir *os.File }

// hold opens a directory by a path without links; it needs no permission for the directory itself.
func hold(path string) (*held, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir, err := unix.Open("/", flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		next, err := unix.Openat(dir, name, flags, 0)
		_ = unix.Close(dir) // nothing was written to it
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		dir = next
	}
	return &held{os.NewFile(uintptr(dir), path)}, nil //nolint:gosec // a descriptor is not negative
}

// path leads to the directory itself.
func (h *held) path() string { return fmt.Sprintf("/proc/self/fd/%d", h.dir.Fd()) }

func (h *held) close() { _ = h.dir.Close() } // nothing was written to it

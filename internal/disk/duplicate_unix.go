//go:build unix

package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// duplicate returns an open file under another name.
func duplicate(f *os.File, name string) (*os.File, error) {
	descriptor, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(descriptor), name), nil
}

package files

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestFull(t *testing.T) {
	for why, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true,
		syscall.EIO: false, syscall.EROFS: false, fs.ErrPermission: false, nil: false,
	} {
		if got := Full(fmt.Errorf("so: %w", &fs.PathError{Op: "write", Path: "a", Err: why})); got != want {
			t.Errorf("%v: %t", why, got)
		}
	}
}

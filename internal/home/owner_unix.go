//go:build unix

package home

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned says whose the file is when it is not this user's.
func owned(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d, and this is user %d", stat.Uid, os.Geteuid())
	}
	return nil
}

// shared reports whether anybody else may do anything with the file.
func shared(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

func syncDir(dir *os.File) error { return dir.Sync() }

package bus

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// memoryRoots lists the directories that are memory here and survive kill -9.
func memoryRoots() []string {
	var roots []string
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} {
		var at unix.Statfs_t
		if dir != "" && unix.Statfs(dir, &at) == nil && at.Type == unix.TMPFS_MAGIC {
			roots = append(roots, dir)
		}
	}
	return roots
}

// lockDirectory opens a directory and locks it; without wait it fails when somebody else has.
func lockDirectory(path string, wait bool) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	if err := unix.Flock(int(dir.Fd()), how); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

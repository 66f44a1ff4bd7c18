package bus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"maestro/internal/disk"
	"maestro/internal/files"

	"golang.org/x/sys/unix"
)

// memoryRoots lists the directories that are memory here and survive kill -9.
func memoryRoots() []string { return inMemory(os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm") }

// runtimeDirs is where systemd makes a directory in memory for each user who is logged in; tests replace it.
var runtimeDirs = "/run/user"

// sweptRoots lists the memoryRoots of any server of this user: one that was killed may have had a session of its own.
func sweptRoots() []string {
	roots := memoryRoots()
	for _, root := range inMemory(filepath.Join(runtimeDirs, strconv.Itoa(os.Getuid()))) {
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// inMemory returns those of some directories that are memory.
func inMemory(dirs ...string) []string {
	var roots []string
	for _, dir := range dirs {
		var at unix.Statfs_t
		if dir != "" && unix.Statfs(dir, &at) == nil && at.Type == unix.TMPFS_MAGIC {
			roots = append(roots, dir)
		}
	}
	return roots
}

// storesInUse returns the sums of all directories in which a process of this user has a file open. It fails when it
// cannot see the files of one.
func storesInUse() (map[string]bool, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	inUse := map[string]bool{}
	for _, process := range processes {
		info, err := disk.Stat(process)
		if err != nil || files.Owned(info) != nil {
			continue // it ended, or is another user's, who cannot enter the directories
		}
		files, err := disk.ReadDir(filepath.Join(process, "fd"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			path, err := os.Readlink(filepath.Join(process, "fd", file.Name()))
			if err != nil || !filepath.IsAbs(path) {
				continue
			}
			for path != "/" {
				path = filepath.Dir(path)
				inUse[storeSum(path)] = true
			}
		}
	}
	return inUse, nil
}

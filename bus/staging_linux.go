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

// memoryRoots lists the directories here that are in memory and survive kill -9.
func memoryRoots() []string { return inMemory(os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm") }

// runtimeDirs is where systemd creates an in-memory directory for each logged-in user. Tests replace it.
var runtimeDirs = "/run/user"

// sweptRoots lists the memoryRoots of any server of this user: a killed server may have had another login session.
func sweptRoots() []string {
	roots := memoryRoots()
	for _, root := range inMemory(filepath.Join(runtimeDirs, strconv.Itoa(os.Getuid()))) {
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// inMemory returns the given directories that are in memory.
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

// storesInUse returns the digests of all directories in which a process of this user has a file open. It fails if it
// cannot see the files of one of them.
func storesInUse() (map[string]bool, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	inUse := map[string]bool{}
	for _, process := range processes {
		info, err := disk.Stat(process)
		if err != nil || files.Owned(info) != nil {
			continue // it ended, or belongs to another user, who cannot enter the directories
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

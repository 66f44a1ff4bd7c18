package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"maestro/internal/disk"
)

// Scratch is a new directory beside its final place, or in it if there is a directory already: that may be a mount
// point, or its parent may not be writable, so that it cannot be replaced. It is locked while its process lives, which
// distinguishes it from what a killed process left.
type Scratch struct {
	// Path is its present path.
	Path string
	lock *os.File // nil where directories cannot be locked
}

// NewScratch creates one for a path, with mode 0700. Its name is ".NAME.PURPOSE-<digits>" beside the path, or
// ".PURPOSE-<digits>" in it.
func NewScratch(path, purpose string) (*Scratch, error) {
	dir, pattern := filepath.Dir(path), "."+filepath.Base(path)+"."+purpose+"-*"
	if info, err := disk.Stat(path); err == nil && info.IsDir() {
		dir, pattern = path, "."+purpose+"-*"
	}
	for {
		made, err := disk.MkdirTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		lock, err := LockDir(made, false)
		if errors.Is(err, errors.ErrUnsupported) {
			return &Scratch{Path: made}, nil
		}
		if err == nil && holds(lock, made) {
			return &Scratch{made, lock}, nil
		}
		if err == nil { // another process took it for a leftover
			_ = lock.Close()
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrHeld) {
			return nil, errors.Join(err, disk.Remove(made))
		}
	}
}

// Release unlocks the directory, which stays where it is.
func (s *Scratch) Release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// InUse lists the directories of NewScratch for a path that other processes have locked.
func InUse(path, purpose string) (used []string, err error) {
	dirs, err := scratches(path, purpose)
	for _, dir := range dirs {
		lock, err := LockDir(dir, false)
		switch {
		case errors.Is(err, ErrHeld):
			used = append(used, dir)
		case err == nil:
			_ = lock.Close()
		}
	}
	return used, err
}

// Leftovers lists the directories of NewScratch for a path that no process has locked.
func Leftovers(path, purpose string) (left []string, err error) {
	return eachLeftover(path, purpose, func(string) error { return nil })
}

// RemoveLeftovers removes them, and what they had begun to move to the path, and returns their names. A killed process
// left them.
func RemoveLeftovers(path, purpose string) (removed []string, err error) {
	return eachLeftover(path, purpose, func(dir string) error {
		for _, name := range unplaced(dir) {
			if err := disk.RemoveAll(filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return disk.RemoveAll(dir)
	})
}

// eachLeftover calls do for each of them, while it is locked.
func eachLeftover(path, purpose string, do func(dir string) error) (done []string, err error) {
	dirs, failed := scratches(path, purpose)
	for _, dir := range dirs {
		lock, err := LockDir(dir, false)
		if err != nil {
			continue // it is in use, or belongs to another user
		}
		if err := do(dir); err != nil {
			failed = errors.Join(failed, err)
		} else {
			done = append(done, dir)
		}
		_ = lock.Close()
	}
	return done, failed
}

// scratches lists the directories with a name of NewScratch for a path, beside it and in it. With an error it also
// returns those that it could see.
func scratches(path, purpose string) (dirs []string, err error) {
	beside := scratchName(`\.` + regexp.QuoteMeta(filepath.Base(path)) + `\.` + purpose)
	for dir, name := range map[string]*regexp.Regexp{filepath.Dir(path): beside, path: scratchName(`\.` + purpose)} {
		entries, listErr := disk.ReadDir(dir)
		if info, statErr := disk.Stat(dir); statErr == nil && !info.IsDir() {
			continue
		}
		if listErr != nil && !errors.Is(listErr, fs.ErrNotExist) {
			err = errors.Join(err, listErr)
		}
		for _, entry := range entries {
			if entry.IsDir() && name.MatchString(entry.Name()) {
				dirs = append(dirs, filepath.Join(dir, entry.Name()))
			}
		}
	}
	slices.Sort(dirs)
	return dirs, err
}

func scratchName(begin string) *regexp.Regexp { return regexp.MustCompile(`^` + begin + `-\d+$`) }

// holds reports whether an open directory is the one at the path.
func holds(dir *os.File, path string) bool {
	held, err := dir.Stat()
	now, nowErr := disk.Lstat(path)
	return err == nil && nowErr == nil && os.SameFile(held, now)
}

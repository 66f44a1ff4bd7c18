package backups

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"maestro/events"
)

// Dir is a directory of automatic backups. Nothing but its own files is touched.
type Dir struct{ path string }

// At gives the directory of a home's backups: dir, or else the home's name and "-backups" beside it.
func At(home, dir string) Dir {
	if dir == "" {
		dir = filepath.Clean(home) + "-backups"
	}
	return Dir{dir}
}

// Path is the directory itself.
func (d Dir) Path() string { return d.path }

// stamp is the time in a file's name, in UTC.
const stamp = "20060102T150405Z"

// namePattern is what automatic backups are called: maestro-TIME-SEQUENCE-HASH.tar.gz, and -partial where texts were
// lost.
var namePattern = regexp.MustCompile(`^maestro-(\d{8}T\d{6}Z)-(\d+)-([0-9a-f]{8})(-partial)?\.tar\.gz$`)

// Made is one automatic backup.
type Made struct {
	Path     string
	Time     time.Time
	Sequence uint64
	// Hash is the beginning of the head's.
	Hash string
	// Partial says that long texts were lost when it was made.
	Partial bool
	Bytes   int64
}

// of reports whether the backup is of this head.
func (m Made) of(head events.Head) bool {
	return m.Sequence == head.Sequence && m.Hash == head.Hash.String()[:8]
}

// List gives the backups, newest first.
func (d Dir) List() ([]Made, error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var list []Made
	for _, entry := range entries {
		parts := namePattern.FindStringSubmatch(entry.Name())
		info, err := entry.Info()
		if parts == nil || err != nil || !info.Mode().IsRegular() {
			continue
		}
		at, err := time.Parse(stamp, parts[1])
		if err != nil {
			continue
		}
		sequence, err := strconv.ParseUint(parts[2], 10, 64)
		if err != nil {
			continue
		}
		list = append(list, Made{filepath.Join(d.path, entry.Name()), at, sequence, parts[3], parts[4] != "", info.Size()})
	}
	slices.SortFunc(list, func(a, b Made) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Path, a.Path))
	})
	return list, nil
}

// Files gives the paths of the backups, newest first.
func (d Dir) Files() ([]string, error) {
	list, err := d.List()
	files := make([]string, 0, len(list))
	for _, made := range list {
		files = append(files, made.Path)
	}
	return files, err
}

// create writes a new backup: whole, durably, or not at all. write answers whether long texts are lacking.
func (d Dir) create(
	head events.Head, at time.Time, write func(*os.File) (partial bool, err error),
) (path string, err error) {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(d.path, ".making-*") // 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	partial, err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	suffix := ""
	if partial {
		suffix = "-partial"
	}
	name := fmt.Sprintf("maestro-%s-%d-%s%s.tar.gz", at.UTC().Format(stamp), head.Sequence, head.Hash.String()[:8], suffix)
	path = filepath.Join(d.path, name)
	if err := os.Rename(f.Name(), path); err != nil {
		return "", err
	}
	return path, syncDir(d.path)
}

// prune removes all but the newest backups: keep whole ones, and as many partial ones, so that those never push out a
// whole one. Those that a wrong clock dated in the future go first.
func (d Dir) prune(keep int, now time.Time) error {
	list, err := d.List()
	if err != nil {
		return err
	}
	seen := map[bool]int{}
	for _, made := range byWorth(list, now) {
		if seen[made.Partial]++; seen[made.Partial] > keep {
			err = errors.Join(err, os.Remove(made.Path))
		}
	}
	return err
}

// clean removes what a process that was killed left half made.
func (d Dir) clean() error {
	left, err := filepath.Glob(filepath.Join(d.path, ".making-*"))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

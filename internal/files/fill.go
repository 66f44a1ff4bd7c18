package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
)

// placingFile is in a Scratch whose content moves to its place: one name a line, in the order in which they move. While
// the last one is not moved, the others may go again.
const placingFile = "placing"

// LostAndFound is what a file system keeps at its top, which may be any directory.
const LostAndFound = "lost+found"

// FillInPlace moves all that is in a durable Scratch into the directory that it is in, durably. The name last moves
// last: until it is there, the directory is not whole, and RemoveLeftovers takes the others away. Nothing else may be
// in the directory, but for what is named as beside it. An error leaves the directory as it was.
func FillInPlace(temporary, last string, beside ...string) (err error) {
	dir := filepath.Dir(temporary)
	names, err := toMove(temporary, dir, last, beside)
	if err != nil {
		return err
	}
	note := filepath.Join(temporary, placingFile)
	if err := writeDurably(note, strings.Join(names, "\n")); err != nil {
		return err
	}
	moved := 0
	defer func() {
		for ; err != nil && moved > 0; moved-- {
			from := filepath.Join(dir, names[moved-1])
			err = errors.Join(err, disk.Rename(from, filepath.Join(temporary, names[moved-1])))
		}
	}()
	if err := disk.Chmod(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if name == last {
			if err := SyncDir(dir); err != nil {
				return err
			}
		}
		if err := disk.Rename(filepath.Join(temporary, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		moved++
	}
	return SyncDir(dir)
}

// toMove lists what is in a directory, last at the end, and fails where the other directory has anything else.
func toMove(temporary, dir, last string, beside []string) (names []string, err error) {
	there, err := disk.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries, err := disk.ReadDir(temporary)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Name() != last {
			names = append(names, entry.Name())
		}
	}
	names = append(names, last)
	for _, entry := range there {
		name := entry.Name()
		mayStay := name == filepath.Base(temporary) || name == LostAndFound || slices.Contains(beside, name)
		if !mayStay || slices.Contains(names, name) {
			return nil, &fs.PathError{Op: "fill", Path: dir, Err: fmt.Errorf("%s is there: %w", name, fs.ErrExist)}
		}
	}
	return names, nil
}

func writeDurably(path, content string) error {
	f, err := disk.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(cmp.Or(err, disk.Sync(f)), f.Close())
	return cmp.Or(err, SyncDir(filepath.Dir(path)))
}

// unplaced lists what a Scratch had begun to move to its place when its process was killed, without what moves last:
// nothing where it did not begin, or was done.
func unplaced(scratch string) []string {
	content, err := disk.ReadFile(filepath.Join(scratch, placingFile))
	if err != nil {
		return nil
	}
	names := strings.Split(string(content), "\n")
	last := names[len(names)-1]
	if _, err := disk.Lstat(filepath.Join(scratch, last)); err != nil {
		return nil
	}
	var moved []string
	for _, name := range names[:len(names)-1] {
		_, err := disk.Lstat(filepath.Join(scratch, name))
		if name == filepath.Base(name) && filepath.IsLocal(name) && errors.Is(err, fs.ErrNotExist) {
			moved = append(moved, name)
		}
	}
	return moved
}

// Occupied returns a name in a directory that is neither a Scratch for it, nor what a killed process moved out of one
// before it was done, nor named as beside them; "" if there is none, or no such directory.
func Occupied(path, purpose string, beside ...string) (string, error) {
	entries, err := disk.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	ours := map[string]bool{LostAndFound: true}
	within := scratchName(`\.` + purpose)
	for _, entry := range entries {
		if !entry.IsDir() || !within.MatchString(entry.Name()) {
			continue
		}
		ours[entry.Name()] = true
		for _, name := range unplaced(filepath.Join(path, entry.Name())) {
			ours[name] = true
		}
	}
	for _, entry := range entries {
		if !ours[entry.Name()] && !slices.Contains(beside, entry.Name()) {
			return entry.Name(), nil
		}
	}
	return "", nil
}

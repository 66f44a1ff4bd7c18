package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
)

// placingFile is in a Scratch whose content moves to its place: one name per line, in the order of the moves. Until the
// last one is moved, the others may be removed again.
const placingFile = "placing"

// LostAndFound is the directory that a file system has at its top, which may be any directory.
const LostAndFound = "lost+found"

// FillInPlace durably moves everything in a synced Scratch to the directory that contains it. last is moved last: until
// it is there, the directory is incomplete, and RemoveLeftovers removes the others. Nothing else may be in the
// directory, except what beside names. If it fails, the directory is as before.
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

// toMove lists the content of a directory, last at the end, and fails if the other directory has anything else.
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
// nothing if it had not begun, or was done.
func unplaced(scratch string) []string {
	f, err := OpenNamed(filepath.Join(scratch, placingFile))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
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

// Occupied returns a name in a directory that is neither a Scratch for it, nor what a killed process had moved out of
// one before it was done, nor listed in beside; "" if there is none, or no such directory.
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

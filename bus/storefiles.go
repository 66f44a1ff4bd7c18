package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// syncTree makes every file and directory under dir durable. A missing dir is an empty one; files that go meanwhile are
// skipped.
func syncTree(dir string) error {
	return disk.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		if !entry.IsDir() && !entry.Type().IsRegular() {
			return nil // a link to staging: nothing in it outlives a start
		}
		return ignoreMissing(syncPath(path))
	})
}

// writeAtomically puts content at path, durably and whole or not at all. Only this user can read it.
func writeAtomically(path string, content ...[]byte) error {
	if err := files.WritePath(path, content...); err != nil {
		return fmt.Errorf("write %s: %w", path, full(files.Explain(path, files.ToChange, err)))
	}
	return full(syncPath(filepath.Dir(path)))
}

// syncPath makes one file's content, or one directory's names, durable.
func syncPath(path string) error {
	f, err := disk.Open(path)
	if err != nil {
		return files.Explain(path, files.ToRead, err)
	}
	if synced != nil {
		synced(path)
	}
	err = disk.Sync(f)
	return errors.Join(err, f.Close())
}

// synced is told of every file and directory that is about to be synced; tests set it.
var synced func(path string)

// mkdirDurably makes a directory and those above it that are missing, and makes their names durable.
func mkdirDurably(dir string) error {
	var made []string
	for at := dir; ; at = filepath.Dir(at) {
		made = append(made, at)
		if _, err := disk.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
	}
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return files.Explain(dir, files.ToChange, err)
	}
	for _, path := range made {
		if err := syncPath(path); err != nil {
			return err
		}
	}
	return nil
}

// probe tells whether a file of a page can be written and synced in dir.
func probe(dir string) error {
	f, err := disk.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = disk.Sync(f)
	}
	return errors.Join(err, f.Close(), disk.Remove(f.Name()))
}

// full names the errors that room on the disk would cure.
func full(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", events.ErrFull, err)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// IsFull reports whether an error is about a disk, or a share of one, that has no room.
func IsFull(err error) bool { return errors.Is(err, events.ErrFull) || isFull(err) }

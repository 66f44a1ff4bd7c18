package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// syncsAtOnce is how many files syncTree syncs at a time: a file system makes several durable with one write of its
// journal, and a stop waits for all.
const syncsAtOnce = 16

// syncTree makes every file and directory under dir durable. A missing dir is an empty one; files that go meanwhile are
// skipped.
func syncTree(dir string) error {
	paths := make(chan string)
	failed := make([]error, syncsAtOnce)
	var syncing sync.WaitGroup
	for i := range failed {
		syncing.Go(func() {
			for path := range paths {
				failed[i] = errors.Join(failed[i], ignoreMissing(syncPath(path)))
			}
		})
	}
	err := disk.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		if entry.IsDir() || entry.Type().IsRegular() { // a link to staging: nothing in it outlives a start
			paths <- path
		}
		return nil
	})
	close(paths)
	syncing.Wait()
	return errors.Join(append(failed, err)...)
}

// writeAtomically puts content at path, durably and whole or not at all. Only this user can read it.
func writeAtomically(path string, content ...[]byte) error {
	if err := files.WritePath(path, content...); err != nil {
		return fmt.Errorf("write %s: %w", disk.Shown(path), full(files.Explain(path, files.ToChange, err)))
	}
	return full(syncPath(filepath.Dir(path)))
}

// syncPath makes one file's content, or one directory's names, durable.
func syncPath(path string) error {
	f, err := disk.Open(path)
	if err != nil {
		return files.Explain(path, files.ToRead, err)
	}
	tellSynced(path)
	err = disk.Sync(f)
	return errors.Join(err, f.Close())
}

// synced is told of every file and directory that is about to be synced, one after the other; tests set it.
var (
	synced  func(path string)
	telling sync.Mutex
)

func tellSynced(path string) {
	if synced == nil {
		return
	}
	telling.Lock()
	defer telling.Unlock()
	synced(path)
}

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
	if files.Full(err) {
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
func IsFull(err error) bool { return errors.Is(err, events.ErrFull) || files.Full(err) }

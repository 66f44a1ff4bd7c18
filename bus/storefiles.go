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

// syncsAtOnce is how many files syncTree syncs concurrently: a file system commits several with one write of its
// journal, and a stop waits for all of them.
const syncsAtOnce = 16

// syncTree syncs every file and directory under dir. A missing dir counts as empty; files that are removed meanwhile
// are skipped.
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
		if entry.IsDir() || entry.Type().IsRegular() { // otherwise a link: nothing of the store is reached through one
			paths <- path
		}
		return nil
	})
	close(paths)
	syncing.Wait()
	return errors.Join(append(failed, err)...)
}

// writeAtomically writes content to path, durably, and completely or not at all. Only this user can read the file.
func writeAtomically(path string, content ...[]byte) error {
	if err := files.WritePath(path, content...); err != nil {
		return fmt.Errorf("write %s: %w", disk.Shown(path), full(files.Explain(path, files.ToChange, err)))
	}
	return full(syncPath(filepath.Dir(path)))
}

// syncPath syncs one file's content, or one directory's entries.
func syncPath(path string) error {
	f, err := disk.Open(path)
	if err != nil {
		return files.Explain(path, files.ToRead, err)
	}
	tellSynced(path)
	err = disk.Sync(f)
	return errors.Join(err, f.Close())
}

// synced is called with every file and directory before its sync, one at a time. Tests set it.
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

// mkdirDurably creates a directory and its missing parents, and syncs their entries.
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

// probe checks that a file of one page can be written and synced in dir.
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

// full returns err as ErrFull if more room on the disk would cure it.
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

// IsFull reports whether an error says that a disk, or a quota on it, has no room.
func IsFull(err error) bool { return errors.Is(err, events.ErrFull) || files.Full(err) }

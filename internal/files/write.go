package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"maestro/internal/disk"
	"maestro/internal/lazyregexp"
)

// Write replaces any file of the name by content: completely or not at all, for this user alone. It first writes to a
// temporary name, replacing any file there. The content is durable; the name is durable once the directory is synced.
func Write(root *disk.Root, temporary, name string, content ...[]byte) error {
	return write(root, temporary, name, content, true)
}

// WriteCopy is Write for a copy that can be made again: readers never see a part of it, but a power cut may leave an
// empty file.
func WriteCopy(root *disk.Root, temporary, name string, content ...[]byte) error {
	return write(root, temporary, name, content, false)
}

func write(root *disk.Root, temporary, name string, content [][]byte, durable bool) error {
	err := writeNew(root, temporary, content, durable)
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// Replace is Write, but first gives anything with the name another one. Nothing is moved before the content is durable,
// and a file keeps its name until it is replaced.
func Replace(root *disk.Root, temporary, name, aside string, content ...[]byte) error {
	err := writeNew(root, temporary, content, true)
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	moved := false
	if root.Link(name, aside) != nil { // a directory has only one name
		if err = root.Rename(name, aside); err == nil {
			moved = true
		}
	}
	if err == nil {
		err = root.Rename(temporary, name)
		switch {
		case err != nil && moved:
			err = errors.Join(err, root.Rename(aside, name))
		case err != nil:
			err = errors.Join(err, root.Remove(aside))
		}
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// writeNew creates a file with the content.
func writeNew(root *disk.Root, name string, content [][]byte, durable bool) error {
	f, err := Create(root, name)
	if err != nil {
		return err
	}
	for _, part := range content {
		if err == nil {
			err = disk.Check("write", filepath.Join(root.Name(), name))
		}
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil && durable {
		err = disk.Sync(f)
	}
	return errors.Join(err, f.Close())
}

// WritePath is Write for a path outside any root, with a unique temporary name.
func WritePath(path string, content ...[]byte) error {
	root, err := disk.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	return errors.Join(Write(root, "."+name+"-"+rand.Text(), name, content...), root.Close())
}

// Separate gives a file an inode of its own, with the same content, mode and times, so that writes to it do not reach
// its former other names. It is durable. Nobody may write to the file meanwhile.
func Separate(path string) error {
	in, err := OpenNamed(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text())
	err = Copy(in, temporary)
	if err == nil {
		err = errors.Join(
			disk.Chmod(temporary, info.Mode().Perm()),
			disk.Chtimes(temporary, time.Time{}, info.ModTime()),
			syncFile(temporary),
		)
	}
	if err == nil {
		err = disk.Rename(temporary, path)
	}
	if err != nil {
		_ = disk.Remove(temporary)
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := disk.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(disk.Sync(f), f.Close())
}

// unfinished matches the temporary names of WritePath.
var unfinished = lazyregexp.New(`^\..+-[A-Z2-7]{26}$`)

// RemoveUnfinished removes from a directory what WritePath left there in killed processes. The caller makes sure that
// nobody is writing there.
func RemoveUnfinished(dir string) error {
	entries, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && unfinished().MatchString(entry.Name()) {
			err = errors.Join(err, disk.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is an os.Root whose errors have full paths, and whose operations a test can make fail.
type Root struct {
	root *os.Root
	name string
}

// OpenRoot is os.OpenRoot.
func OpenRoot(dir string) (*Root, error) {
	if err := Check("open", dir); err != nil {
		return nil, err
	}
	root, err := given(os.OpenRoot(dir))
	if err != nil {
		return nil, err
	}
	return &Root{root, dir}, nil
}

// Name returns the path by which the directory was opened.
func (r *Root) Name() string { return r.name }

// Close is os.Root.Close.
func (r *Root) Close() error { return r.named(r.root.Close()) }

func (r *Root) check(operation, name string) error {
	return Check(operation, filepath.Join(r.name, name))
}

// named returns an error of package os with the full path.
func (r *Root) named(err error) error {
	whole := func(path string) string {
		if filepath.IsAbs(path) {
			return Shown(path)
		}
		return filepath.Join(Shown(r.name), path)
	}
	switch e := err.(type) { //nolint:errorlint // it comes unwrapped from package os
	case *fs.PathError:
		e.Path = whole(e.Path)
	case *os.LinkError:
		e.Old, e.New = whole(e.Old), whole(e.New)
	}
	return err
}

// Stat is os.Root.Stat.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	if err := r.check("stat", name); err != nil {
		return nil, err
	}
	info, err := r.root.Stat(name)
	return info, r.named(err)
}

// Lstat is os.Root.Lstat.
func (r *Root) Lstat(name string) (fs.FileInfo, error) {
	if err := r.check("lstat", name); err != nil {
		return nil, err
	}
	info, err := r.root.Lstat(name)
	return info, r.named(err)
}

// Open is os.Root.Open.
func (r *Root) Open(name string) (*os.File, error) { return r.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is os.Root.OpenFile.
func (r *Root) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := r.check("open", name); err != nil {
		return nil, err
	}
	f, err := r.root.OpenFile(name, flag, mode)
	if err != nil {
		return nil, r.named(err)
	}
	return underRealName(f)
}

// ReadDir is os.ReadDir. Unlike fs.ReadDir, it takes names that are not UTF-8.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := r.check("readdir", name); err != nil {
		return nil, err
	}
	dir, err := r.root.Open(name + asDir)
	if err != nil {
		return nil, r.named(err)
	}
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, r.named(errors.Join(err, dir.Close()))
}

// Readlink is os.Root.Readlink.
func (r *Root) Readlink(name string) (string, error) {
	if err := r.check("readlink", name); err != nil {
		return "", err
	}
	leads, err := r.root.Readlink(name)
	return leads, r.named(err)
}

// WalkDir is fs.WalkDir of the whole root.
func (r *Root) WalkDir(visit fs.WalkDirFunc) error {
	return fs.WalkDir(r.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = r.check("walk", path)
		}
		return visit(path, entry, r.named(err))
	})
}

// Mkdir is os.Root.Mkdir.
func (r *Root) Mkdir(name string, mode fs.FileMode) error {
	if err := r.check("mkdir", name); err != nil {
		return err
	}
	return r.named(r.root.Mkdir(name, mode))
}

// MkdirAll is os.Root.MkdirAll.
func (r *Root) MkdirAll(name string, mode fs.FileMode) error {
	if err := r.check("mkdir", name); err != nil {
		return err
	}
	return r.named(r.root.MkdirAll(name, mode))
}

// Chmod is os.Root.Chmod.
func (r *Root) Chmod(name string, mode fs.FileMode) error {
	if err := r.check("chmod", name); err != nil {
		return err
	}
	return r.named(r.root.Chmod(name, mode))
}

// Rename is os.Root.Rename. A test is asked about the new name.
func (r *Root) Rename(from, to string) error {
	if err := r.check("rename", to); err != nil {
		return err
	}
	return r.named(r.root.Rename(from, to))
}

// Link is os.Root.Link. A test is asked about the new name.
func (r *Root) Link(from, to string) error {
	if err := r.check("link", to); err != nil {
		return err
	}
	return r.named(r.root.Link(from, to))
}

// Remove is os.Root.Remove.
func (r *Root) Remove(name string) error {
	if err := r.check("remove", name); err != nil {
		return err
	}
	return r.named(r.root.Remove(name))
}

// RemoveAll is os.Root.RemoveAll.
func (r *Root) RemoveAll(name string) error {
	if err := r.check("remove", name); err != nil {
		return err
	}
	return r.named(r.root.RemoveAll(name))
}

// underRealName returns a file that was opened by way of a descriptor its real name, which its errors have.
func underRealName(f *os.File) (*os.File, error) {
	if !strings.Contains(f.Name(), heldPrefix) {
		return f, nil
	}
	named, err := duplicate(f, Shown(f.Name()))
	if closeErr := f.Close(); err == nil && closeErr != nil {
		_ = named.Close()
		return nil, closeErr
	}
	return named, err
}

// FS returns the directory as a file system, to read it.
func (r *Root) FS() fs.FS { return r.root.FS() }

package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/workers/preflight"
)

// inTarget returns an absolute path as it counts from the target, "" outside of it. A link outside of the target may
// lead there.
func (g *guard) inTarget(path string) string {
	if rel, err := filepath.Rel(g.target, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	real, err := files.Resolve(path)
	if err != nil {
		return ""
	}
	if rel, err := filepath.Rel(g.target, real); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

// expanded returns a path of a configuration with a home directory in the place of a tilde and a name.
func (g *guard) expanded(path string) string {
	rest, tilde := strings.CutPrefix(path, "~")
	if !tilde {
		return path
	}
	name, below, _ := strings.Cut(rest, "/")
	if name == "" {
		return filepath.Join(g.user, below)
	}
	if other, err := user.Lookup(name); err == nil {
		return filepath.Join(other.HomeDir, below)
	}
	return "" // git does not find it either
}

// keep adds a path, none of whose parts in the target may be a link: the link could be led elsewhere.
func (g *guard) keep(name string) error {
	if err := g.isText(name); err != nil {
		return err
	}
	for at := name; at != "."; at = filepath.Dir(at) {
		info, err := g.root.Lstat(at)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(g.target, at), err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return g.isLink(filepath.Join(g.target, at))
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			path := filepath.Join(g.target, at)
			return &preflight.Failure{
				Check:   preflight.CheckTarget,
				Path:    path,
				Message: path + " is no file and no directory, so it cannot be kept from agents",
				Fix:     "remove it, or " + g.allow,
			}
		}
	}
	if path := filepath.Join(g.target, name); !slices.Contains(g.found.kept, path) {
		g.found.kept = append(g.found.kept, path)
	}
	return nil
}

// isText fails for a path that is not UTF-8: the program that confines the agent gets the paths as JSON, and would
// protect another one.
func (g *guard) isText(name string) error {
	path := filepath.Join(g.target, name)
	if utf8.ValidString(path) {
		return nil
	}
	return &preflight.Failure{
		Check:   preflight.CheckTarget,
		Path:    strconv.Quote(path),
		Message: fmt.Sprintf("%q is not UTF-8, so it cannot be kept from an agent", path),
		Fix:     "rename it, or " + g.allow,
	}
}

// isLink is the failure for a link in the place of what is kept.
func (g *guard) isLink(path string) error {
	return &preflight.Failure{
		Check:   preflight.CheckTarget,
		Path:    path,
		Message: path + " is a link, so it cannot be kept from an agent that works there",
		Fix:     "replace the link by what it leads to, or " + g.allow,
	}
}

// keepIfThere adds a path in the target, if there is something.
func (g *guard) keepIfThere(path string) error {
	name := g.inTarget(path)
	if name == "" || name == "." {
		return nil
	}
	if _, err := g.root.Lstat(name); err != nil {
		return nil //nolint:nilerr // it is not there, or a link leads out of the target
	}
	return g.keep(name)
}

// keepDir adds a directory in the target, and makes it if it is missing.
func (g *guard) keepDir(path string) error {
	return g.keepMade(path, func(name string) error { return g.root.MkdirAll(name, 0o755) })
}

// keepFile adds a file in the target, and makes it if it is missing.
func (g *guard) keepFile(path string) error {
	return g.keepMade(path, func(name string) error {
		if err := g.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := g.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

func (g *guard) keepMade(path string, makes func(name string) error) error {
	name := g.inTarget(path)
	if name == "" || name == "." {
		return nil
	}
	if err := g.isText(name); err != nil {
		return err
	}
	if _, err := g.root.Lstat(name); err == nil {
		return g.keep(name)
	}
	there := "."
	for at := filepath.Dir(name); at != "."; at = filepath.Dir(at) {
		info, err := g.root.Lstat(at)
		if err != nil {
			continue
		}
		if !info.IsDir() { // git finds nothing below it, as long as it stays
			return g.keep(at)
		}
		there = at
		break
	}
	err := makes(name)
	if errors.Is(err, fs.ErrPermission) && isOwn(g.root, there) { // as the agent could
		err = g.opened(there, func() error { return makes(name) })
	}
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return nil // the agent cannot make it either
	case err != nil:
		return fmt.Errorf("make %s: %w", filepath.Join(g.target, name), err)
	}
	return g.keep(name)
}

// opened calls a function while a directory that its user has closed can be written.
func (g *guard) opened(name string, do func() error) error {
	info, err := g.root.Lstat(name)
	if err != nil {
		return err
	}
	if err := g.root.Chmod(name, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	err = do()
	return errors.Join(err, g.root.Chmod(name, info.Mode().Perm()))
}

// isOwn reports whether an agent could give itself permissions for what is there, because it is its user's.
func isOwn(root *disk.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && files.Owned(info) == nil
}

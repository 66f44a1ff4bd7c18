package preflight

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"maestro/internal/files"
	"maestro/internal/safetext"
)

// accessible checks that a directory, which is open at held, can be read and written. If it cannot and fix is true, it
// changes the permissions of the directory and of what is in it, as `chmod -R 755` does, but follows no link. fixedWith
// ends the advice.
func accessible(path, held string, check Check, fix bool, fixedWith string) error {
	err := tryAccess(held)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) && fix {
		if err = openUp(held); err == nil {
			err = tryAccess(held)
		}
	}
	if err == nil {
		return nil
	}
	failure := &Failure{
		Check:   CheckPermissions,
		Path:    path,
		Message: "The " + named(check) + " " + path + " cannot be read and written: " + files.Bare(err).Error(),
		Fix: "make it readable and writable for this user: " + safetext.Line("chmod", "-R", "u+rwX", path) +
			fixedWith,
		Err: &PermissionError{err},
	}
	info, unknown := os.Stat(held)
	switch {
	case !errors.Is(err, fs.ErrPermission):
		failure.Fix = "look at the disk that it is on"
	case unknown == nil && files.Owned(info) != nil: // only its owner can change its mode
		failure.Fix = "it belongs to another user: use a directory of your own, or let its owner give you access"
	}
	return failure
}

// fixedWith says how the user lets the permissions of the target be changed, "" if nothing does.
func (o Options) fixedWith() string {
	if o.FixPermissions || !o.mayFix() {
		return ""
	}
	return ", or let it be changed, as `chmod -R 755` does, with `" + o.Command + " --fix-permissions`"
}

// mayFix reports whether the command has the flag --fix-permissions: it launches agents.
func (o Options) mayFix() bool { return o.Command == "serve" || strings.HasSuffix(o.Command, " init") }

// tryAccess lists a directory, and creates and removes a file in it: modes alone do not say whether that works.
func tryAccess(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = dir.Readdirnames(1)
	if closed := dir.Close(); closed != nil {
		return closed
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	probe, err := os.CreateTemp(path, ".maestro-probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// openUp changes the permissions of a directory, then those of what is in it. os.Root keeps the changes inside,
// whatever links another process puts there meanwhile.
func openUp(path string) error {
	if err := os.Chmod(path, fixedMode); err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return openUpIn(root)
}

// openUpIn works through the directories of a root, each before what is in it. One at a time is open.
func openUpIn(root *os.Root) error {
	for next := []string{"."}; len(next) > 0; next = next[1:] {
		dir, err := root.Open(next[0])
		if err != nil {
			return err
		}
		entries, err := dir.ReadDir(-1)
		if err := errors.Join(err, dir.Close()); err != nil {
			return err
		}
		for _, entry := range entries {
			name := filepath.Join(next[0], entry.Name())
			if entry.Type()&fs.ModeSymlink != 0 {
				continue
			}
			if err := root.Chmod(name, fixedMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if entry.IsDir() {
				next = append(next, name)
			}
		}
	}
	return nil
}

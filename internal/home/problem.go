package home

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// Problem says what is wrong with a home or one of its files, why, and what to do. Match it with errors.As.
type Problem struct {
	What, Why, Next string
	// NoHome says that the path leads to something that is not a home and cannot become one.
	NoHome bool
	// Hidden says that a confined process may not see the home.
	Hidden bool
	err    error
}

func (p *Problem) Error() string {
	text := p.What
	if p.Why != "" {
		text += ": " + p.Why
	}
	if p.Next != "" {
		text += "; " + p.Next
	}
	return text
}

func (p *Problem) Unwrap() error { return p.err }

const nameAnother = "name a home, or a new directory, with MAESTRO_HOME, or with --home for a restore"

// notHome returns the problem that a path does not lead to a home.
func notHome(dir, why string, err error) *Problem {
	return &Problem{
		What:   dir + " is not a Maestro home",
		Why:    why,
		Next:   nameAnother,
		NoHome: true,
		err:    err,
	}
}

// reason removes the operation and the path from an error; what it wraps can still be matched.
func reason(err error) error {
	var path *fs.PathError
	var denied *files.DeniedError
	if errors.As(err, &denied) {
		return denied
	}
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// notOpened explains why a home could not be opened. A missing home stays fs.ErrNotExist.
func notOpened(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open the home %s: %w", dir, reason(err))
	}
	if file := fileAbove(dir); file != "" {
		return notHome(dir, file+" is not a directory", err)
	}
	var denied *files.DeniedError
	if errors.As(files.Explain(dir, files.ToRead, err), &denied) {
		return denied
	}
	return &Problem{
		What: "The home " + dir + " cannot be opened",
		Why:  reason(err).Error(),
		Next: nameAnother,
		err:  err,
	}
}

// fileAbove returns the part of a path that exists and is not a directory, "" if there is none.
func fileAbove(path string) string {
	for ; ; path = filepath.Dir(path) {
		if info, err := disk.Stat(path); err == nil && !info.IsDir() {
			return path
		} else if err == nil || path == filepath.Dir(path) {
			return ""
		}
	}
}

// holdsHome reports whether a directory has the contents of a home: secrets, or a log.
func (h *Home) holdsHome() bool {
	for _, name := range []string{adminTokenFile, serverKeyFile, filepath.Join(storeDir, streamsDir)} {
		if _, err := h.root.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// onlyLocked reports whether the directory holds nothing but the lock file.
func (h *Home) onlyLocked() bool {
	entries, err := h.root.ReadDir(".")
	return err == nil && len(entries) == 1 && entries[0].Name() == lockFile
}

// onlyPrepared reports whether the directory holds nothing but what a user puts there before the first start.
func (h *Home) onlyPrepared() bool {
	entries, err := h.root.ReadDir(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != configFile })
}

// whyClosed returns why only its owner may read a file of the home.
func whyClosed(name string) string {
	switch name {
	case agentsFile:
		return "who can change it decides what the server runs, and it may hold keys"
	case configFile:
		return "only its owner may read what a home holds, and decide what its commands do"
	}
	return "it is a secret"
}

package home

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// ElsewhereError says that a part of the store is not in the home. A server locks its home, sets damaged parts aside
// and restores blocks by renaming them, and neither works across a link or on another file system. Match it with
// errors.As.
type ElsewhereError struct {
	Path string
	// LeadsTo is the target of a symbolic link, "" if Path is on another file system.
	LeadsTo string
}

func (e *ElsewhereError) Error() string { return e.What() + "; " + e.Next() }

// What says which part is elsewhere.
func (e *ElsewhereError) What() string {
	if e.LeadsTo != "" {
		return e.Path + " is a symbolic link to " + e.LeadsTo
	}
	return e.Path + " is on another file system than its home"
}

// Next says what to do.
func (e *ElsewhereError) Next() string {
	const whole = "to keep a home on another disk, move the whole home, and set MAESTRO_HOME"
	if e.LeadsTo != "" {
		return fmt.Sprintf("remove the link, move %s to its place, and start again; %s", e.LeadsTo, whole)
	}
	return "move what is there into the home, and start again; " + whole
}

// batchesDir is where nats-server writes batches. It may be a link into memory that an earlier version left;
// nats-server removes it when it starts.
const batchesDir = "batches"

// CheckStorePlace fails with *ElsewhereError when a part of the store is not in the home. It ignores a link to nothing,
// which is reported when the target is opened.
func (h *Home) CheckStorePlace() error {
	own, err := disk.Stat(h.dir)
	if err != nil {
		return nil //nolint:nilerr // opening it reports the error
	}
	streams := filepath.Join(h.dir, storeDir, streamsDir)
	return disk.WalkDir(filepath.Join(h.dir, storeDir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return linkElsewhere(path, streams)
		case !entry.IsDir():
			return nil
		}
		if info, err := entry.Info(); err == nil && !files.SameFileSystem(own, info) {
			return &ElsewhereError{Path: path}
		}
		return nil
	})
}

// linkElsewhere fails for a link that leads to something, except that of a stream's batches.
func linkElsewhere(path, streams string) error {
	if filepath.Base(path) == batchesDir && filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path)))) == streams {
		return nil
	}
	if _, err := disk.Stat(path); err != nil {
		return nil //nolint:nilerr // it leads to nothing, or that cannot be determined
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.Join(&ElsewhereError{Path: path, LeadsTo: "elsewhere"}, err)
	}
	return &ElsewhereError{Path: path, LeadsTo: target}
}

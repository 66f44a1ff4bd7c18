package bus

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/lazyregexp"
)

// scratch matches the temporary entries that a start creates in the store; see probe, usable and repairMeta.
var scratch = lazyregexp.New(`^\.(probe|model)-\d+$`)

// removeUnfinished removes what a killed server left incomplete: copies of a damaged store or of its end, directories
// that it was about to set something aside to, and temporary files. The store is locked.
func (e *embedded) removeUnfinished() {
	left, err := asides(e.dir, copyingAside)
	listed, listErr := pendingRebuilds(e.dir)
	err = errors.Join(err, listErr)
	for _, what := range append([]string{otherAside}, sideStreams...) {
		found, listErr := asides(e.dir, strings.ToLower(what))
		err = errors.Join(err, listErr)
		left = append(left, slices.DeleteFunc(found, func(dir string) bool {
			return slices.Contains(listed[what], filepath.Base(dir)) || !isHollow(dir)
		})...)
	}
	for _, dir := range e.serverDirs() {
		if !isDir(dir) {
			continue
		}
		entries, listErr := disk.ReadDir(dir)
		err = errors.Join(err, listErr)
		for _, entry := range entries {
			if scratch().MatchString(entry.Name()) {
				left = append(left, filepath.Join(dir, entry.Name()))
			}
		}
	}
	for _, path := range left {
		err = errors.Join(err, disk.RemoveAll(path))
	}
	err = errors.Join(err, files.RemoveUnfinished(e.dir))
	for _, stream := range storedStreams {
		path := streamPath(e.dir, stream.name)
		if isDir(path) {
			err = errors.Join(err, files.RemoveUnfinished(path))
		}
	}
	if err != nil {
		e.logger.Warn("files that a killed server left unfinished cannot be removed", "why", err)
	}
}

// isDir reports whether a path is a directory, and not a link to one.
func isDir(path string) bool {
	info, err := disk.Lstat(path)
	return err == nil && info.IsDir()
}

// isHollow reports whether a directory for something set aside is empty: the server was killed before the move.
func isHollow(aside string) bool {
	hollow := true
	err := disk.WalkDir(aside, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() && path != filepath.Join(aside, faultsName) {
			hollow = false
			return fs.SkipAll
		}
		return nil
	})
	return hollow && err == nil
}

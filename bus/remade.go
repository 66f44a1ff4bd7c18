package bus

import (
	"errors"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
)

// remade lists the files in a stream's directory that a start recreates. The server opens them for writing when it
// stops: at a named pipe it would block forever.
var remade = []string{filepath.Join("msgs", indexName), metaName, metaSumName}

// otherRemade returns those paths of a stream where something other than a file is.
func otherRemade(dir, stream string) (paths []string) {
	for _, name := range remade {
		path := filepath.Join(streamPath(dir, stream), name)
		if _, err := disk.Lstat(path); err == nil && !leadsToFile(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// clearRemade removes whatever is in the place of a file that a start recreates.
func (e *embedded) clearRemade() error {
	var paths []string
	for _, stored := range storedStreams {
		paths = append(paths, otherRemade(e.dir, stored.name)...)
	}
	list := filepath.Join(e.dir, rebuildsName)
	if _, err := disk.Lstat(list); err == nil && !leadsToFile(list) {
		paths = append(paths, list)
	}
	for _, path := range paths {
		if err := e.takeAway(path); err != nil {
			return err
		}
	}
	return nil
}

// takeAway removes what is in the place of a file. A directory that is not empty is set aside.
func (e *embedded) takeAway(path string) error {
	err := disk.Remove(path)
	switch {
	case err == nil:
		e.logger.Warn("something else was in the place of a file of the store; it was removed, and the file is "+
			"written again", "path", path)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	aside, err := e.newAside(otherAside)
	if err != nil {
		return err
	}
	if err := disk.Rename(path, filepath.Join(aside, filepath.Base(path))); err != nil {
		return full(err)
	}
	e.logger.Warn("something else was in the place of a file of the store; it is set aside, and the file is recreated",
		"path", path, "aside", aside)
	return nil
}

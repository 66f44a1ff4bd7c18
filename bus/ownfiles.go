package bus

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// separate gives every hard-linked file of the streams an inode of its own. nats-server writes to its files in place,
// so a copy of the store made of hard links would share the writes of either server.
func (e *embedded) separate() error {
	var separated []string
	err := disk.WalkDir(e.storeDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the check reports what cannot be read
		}
		if entry.IsDir() {
			return nil
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || files.Links(info) < 2 {
			return nil //nolint:nilerr // it is gone, or not shared
		}
		if err := files.RemoveUnfinished(filepath.Dir(path)); err != nil {
			return fmt.Errorf("remove what a killed start left beside %s: %w", path, err)
		}
		if err := files.Separate(path); err != nil {
			return fmt.Errorf("%s is a hard link, so another store may share its content, and no copy of its own "+
				"can be made: %w; make that possible, or copy the home with `cp -a` and serve the copy",
				path, full(files.Explain(path, files.ToChange, err)))
		}
		separated = append(separated, path)
		return nil
	})
	if len(separated) > 0 {
		e.logger.Warn(
			"files of the store were hard links, which another store may share; each has a copy of its own now",
			"files", len(separated), "first", separated[0],
			"next", "nothing for this home; copy homes with `cp -a` or `maestro backup`, not with hard links")
	}
	return err
}

package bus

import (
	"fmt"
	"path/filepath"
	"strings"

	"maestro/events"
	"maestro/internal/disk"
)

// gone returns the damage of a store that has lost its whole log: no block is left, and something shows that there was
// one. used is what shows it outside the store, "" if nothing does. A store that was never opened passes.
func (s *scannedStream) gone(store, used string) error {
	if len(s.blocks) > 0 {
		return nil
	}
	if own := usedStore(store); own != "" {
		used = own
	}
	if used == "" {
		return nil
	}
	return &events.DamageError{
		Sequence: 1,
		Why: fmt.Sprintf("the log is gone: %s has no block, and %s shows that it had some (if you want an empty log, "+
			"start a server on a new home)", s.dir, used),
	}
}

// usedStore returns a path that only a store with a log has, "" if there is none: what is beside the log in a store,
// or was set aside of it, and the note of the daily check. The note of the boot is no sign: a start writes it before it
// creates the log.
func usedStore(dir string) string {
	for _, stream := range sideStreams {
		messages := filepath.Join(streamPath(dir, stream), "msgs")
		blocks, _ := blockFiles(messages) // the check of the stream reports what cannot be read
		for _, index := range blocks {
			path := filepath.Join(messages, blockName(index))
			if info, err := disk.Stat(path); err == nil && info.Size() > 0 {
				return path
			}
		}
	}
	for _, what := range append([]string{tailAside}, sideStreams...) {
		if found, err := asides(dir, strings.ToLower(what)); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	if path := filepath.Join(dir, checkedName); isPlain(path) {
		return path
	}
	return ""
}

func isPlain(path string) bool {
	info, err := disk.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

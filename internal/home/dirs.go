package home

import (
	"path/filepath"

	"maestro/internal/disk"
)

// streamsDir is the directory of the store's streams.
const streamsDir = "jetstream"

// Dirs returns the directories of a home: the store and the snapshots may be links to another disk.
func Dirs(home string) []string {
	return []string{
		home,
		filepath.Join(home, storeDir),
		filepath.Join(home, storeDir, streamsDir),
		filepath.Join(home, snapshotsDir),
	}
}

// HasLog reports whether a home has a log already.
func HasLog(home string) bool {
	_, err := disk.Stat(filepath.Join(home, storeDir, streamsDir))
	return err == nil
}

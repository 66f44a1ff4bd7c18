package offline

import (
	"log/slog"

	"maestro/bus"
	"maestro/internal/home"
	"maestro/internal/salvage"
)

// ClearLeftovers removes from a home what its server left half written when it was killed, and names the directories
// that a killed restore or salvage left, with all that they had copied.
func ClearLeftovers(lock *home.Lock, logger *slog.Logger) {
	if err := lock.RemoveUnfinished(); err != nil {
		logger.Warn("what a killed server left half written cannot be removed", "why", err,
			"next", "delete it: a file with a dot and 26 capital letters and digits in its name")
	}
	restored, _ := bus.Unbuilt(lock.Store()) // what cannot be listed is not known
	for _, dir := range restored {
		logger.Warn("a restore into this home was killed, and left a directory", "path", dir,
			"next", "if the home lacks the log, stop this server and run `maestro restore` again; it removes the "+
				"directory. Else delete it")
	}
	salvaged, _ := salvage.Leftovers(lock.Dir())
	for _, dir := range salvaged {
		logger.Warn("a salvage that was to make this home was killed, and left a directory, with secrets", "path", dir,
			"next", "delete it, if this home is the one that you want")
	}
}

package guard

import (
	"log/slog"

	"maestro/bus"
	"maestro/internal/home"
	"maestro/internal/salvage"
)

// clearLeftovers removes half-written files that a killed server left in a home, and logs the directories that a killed
// restore or salvage left, with everything that they had copied.
func clearLeftovers(lock *home.Lock, logger *slog.Logger) {
	if err := lock.RemoveUnfinished(); err != nil {
		logger.Warn("files that a killed server left unfinished cannot be removed", "why", err,
			"next", "delete the file: its name has a dot and 26 capital letters and digits")
	}
	restored, _ := bus.Unbuilt(lock.Store()) // what cannot be listed is unknown
	for _, dir := range restored {
		logger.Warn("a killed restore into this home left a directory behind", "path", dir,
			"next", "if the home lacks the log, stop this server and run `maestro restore` again; it removes the "+
				"directory. Else delete it")
	}
	salvaged, _ := salvage.Leftovers(lock.Dir())
	for _, dir := range salvaged {
		logger.Warn("a killed salvage into this home left a directory with secrets behind", "path", dir,
			"next", "if this home is the one that you want, delete the directory")
	}
}

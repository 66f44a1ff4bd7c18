package commands

import "slices"

// mayWait are the commands whose answer nobody waits for. A session that does not reach the server keeps them and
// delivers them later.
var mayWait = []string{
	"report:progress", "report:complete", "report:blocked", "report:error", "report:needs-input",
	"task:report:progress", "task:report:complete", "task:report:blocked", "task:report:error", "task:report:needs-input",
	"track-file", "session:complete",
}

// MayWait reports whether a command of this id may be kept in an outbox and delivered later. Only these commands carry
// the time at which they were said.
func MayWait(id string) bool { return slices.Contains(mayWait, id) }

package commands

import (
	"slices"
	"strings"
)

// Alternative returns the command that a session with these permissions may use in place of one that it may not, and
// its command line.
func (t *Table) Alternative(who RoleSet, allowed []string, id string) (alternative, line string) {
	for _, other := range slices.Concat(alternatives[t.canonical(id)], asks) {
		if other != id && slices.Contains(allowed, other) && t.MayList(who, other) == "" {
			return other, spelled[other]
		}
	}
	return "commands", spelled["commands"]
}

// asSession returns the command line by which a user runs a session's command.
func asSession(id string) string {
	return "maestro session exec <sessionId> -- maestro " + strings.ReplaceAll(id, ":", " ") + " …"
}

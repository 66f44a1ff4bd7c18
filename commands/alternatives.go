package commands

import (
	"slices"
	"strings"

	"maestro/internal/safetext"
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

// instead returns the next step of a session that may not use a command, and the command line that may do what it
// meant, "" if none is known.
func (t *Table) instead(who RoleSet, allowed []string, id string) (next, line string) {
	other, line := t.Alternative(who, allowed, id)
	if other == "commands" {
		return "see `" + line + "`", ""
	}
	return "use `" + line + "`", line
}

// Meant returns the id that an unknown one may stand for: one that ends with it, such as report:blocked for blocked, or
// else the nearest; "" if there is none, or the id is known.
func (t *Table) Meant(id string) string {
	if _, known := t.Row(id); known || id == "" {
		return ""
	}
	ids := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		if row.Planned || row.Who&^RoleSystem == 0 {
			continue
		}
		if strings.HasSuffix(row.ID, ":"+id) && row.Alias == "" && row.Who&agents != 0 {
			return row.ID
		}
		ids = append(ids, row.ID)
	}
	return safetext.Nearest(id, ids)
}

// asSession returns the command line by which a user runs a session's command.
func asSession(id string) string {
	return "maestro session exec <sessionId> -- maestro " + strings.ReplaceAll(id, ":", " ") + " …"
}

package prompt

import (
	"slices"
	"strings"
	"sync"

	"maestro/commands"
)

// usage is a command line: its syntax, its description, and who may use it.
type usage struct {
	// id is its command id or, if it has none of its own, its words with colons.
	id, syntax, description string
	// needs are the command ids that it needs, if it has none of its own.
	needs []string
	// only is "sessions" or "users" if only they may run it.
	only string
	// also is what else those are told who may use alsoTo.
	also, alsoTo string
	// untold says that agents are not told of it: it is for people at a terminal, or for programs.
	untold bool
}

// usageIndex is where each id is in usages.
var usageIndex = sync.OnceValue(func() map[string]int {
	at := make(map[string]int, len(usages))
	for i, u := range usages {
		at[u.id] = i
	}
	return at
})

func usageOf(id string) (usage, bool) {
	i, ok := usageIndex()[id]
	if !ok {
		return usage{}, false
	}
	return usages[i], true
}

// Syntax returns the executable form of a command id and its description, for every id of the permission table that
// this binary has, and for every command line that needs such ids; false for any other. Angle brackets mark what is to
// be replaced, square brackets what is optional, a bar separates alternatives, and an ellipsis marks what may be
// repeated. `make generate` derives the forms from the command line's own commands and flags.
func Syntax(id string) (syntax, description string, ok bool) {
	u, ok := usageOf(id)
	if !ok {
		return "", "", false
	}
	return "maestro " + u.syntax, u.description, true
}

// withMail adds to a session's list what every session may use that has not ended. Such a session has the core
// commands.
func withMail(allowed []string) []string {
	if slices.Contains(allowed, commands.ReceivesMail) || !slices.Contains(allowed, "session:register") {
		return allowed
	}
	return append(slices.Clone(allowed), commands.ReceivesMail)
}

// allows reports whether a caller with a list of commands may use a line.
func (u usage) allows(allowed []string) bool {
	needs := u.needs
	if len(needs) == 0 {
		needs = []string{u.id}
	}
	for _, id := range needs {
		if row, ok := commands.CurrentRules().Row(id); ok && row.Alias != "" {
			id = row.Alias
		}
		if !slices.Contains(allowed, id) {
			return false
		}
	}
	return true
}

// describe returns the description for a caller with a list of commands.
func (u usage) describe(allowed []string) string {
	if u.also == "" || !slices.Contains(allowed, u.alsoTo) {
		return u.description
	}
	return u.description + "; " + u.also
}

// Lines returns the ids of all command lines that a caller with a list of commands may use, in the order of the
// permission table: what every list of commands shows. A session is not told of those for people or programs.
func Lines(session bool, allowed []string) []string {
	ids := []string{}
	if session {
		allowed = withMail(allowed)
	}
	for _, u := range usages {
		if u.only != "" && (u.only == "sessions") != session || session && u.untold {
			continue
		}
		if u.allows(allowed) {
			ids = append(ids, u.id)
		}
	}
	return ids
}

// groupOf returns the group in which a command id is shown.
func groupOf(id string) string {
	if parent, _, ok := strings.Cut(id, ":"); ok {
		return parent
	}
	if row, ok := commands.CurrentRules().Row(id); ok && row.Core {
		return "core"
	}
	return "overview"
}

// group is a set of commands that are shown together.
type group struct {
	name string
	ids  []string
}

// grouped groups command ids, and keeps the order of both.
func grouped(ids []string) []group {
	var groups []group
	at := map[string]int{}
	for _, id := range ids {
		name := groupOf(id)
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, group{name: name})
		}
		groups[i].ids = append(groups[i].ids, id)
	}
	return groups
}

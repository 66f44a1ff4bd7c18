package prompt

import (
	"strings"

	"maestro/commands"
)

// usage is the syntax and the description of a command.
type usage struct{ syntax, description string }

// Syntax returns the executable form of a command id and its description, for every id of the permission table that
// this binary has; false for any other. Angle brackets mark what is to be replaced, square brackets what is optional, a
// bar separates alternatives, and an ellipsis marks what may be repeated. `make generate` derives the forms from the
// command line's own commands and flags.
func Syntax(id string) (syntax, description string, ok bool) {
	u, ok := syntaxes[id]
	if !ok {
		return "", "", false
	}
	return "maestro " + u.syntax, u.description, true
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

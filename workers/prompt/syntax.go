package prompt

import (
	"strings"

	"maestro/commands"
)

// usage is the syntax and the description of a command.
type usage struct{ syntax, description string }

// Syntax returns the executable form of a command id and what it does, for every id of the permission table that this
// binary has; false for any other. What stands in angle brackets is to be replaced, what stands in square brackets may
// be left out, a bar separates words to choose from, and an ellipsis says that what is before it may be repeated. `make
// generate` makes the forms of the command line's own commands and flags.
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

// group is commands that are shown together.
type group struct {
	name string
	ids  []string
}

// grouped puts command ids under their groups, both in the order in which they come.
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

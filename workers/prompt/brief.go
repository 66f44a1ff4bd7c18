package prompt

import (
	"fmt"
	"slices"
	"strings"

	"maestro/commands"
)

// Brief returns the command brief (docs/spec/000-command-permissions.md, "Command Brief Generation") in markdown: role
// and strategy, the commands by group, and the number of the others. It omits commands that this binary does not have.
func Brief(role, strategy string, allowed []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Maestro Commands\n\n**Role:** %s\n", oneLine(role))
	if strategy != "" {
		fmt.Fprintf(&b, "**Strategy:** %s\n", oneLine(strategy))
	}
	for _, g := range grouped(shown(allowed)) {
		fmt.Fprintf(&b, "\n### %s\n\n", strings.ToUpper(g.name[:1])+g.name[1:])
		for _, id := range g.ids {
			syntax, description, _ := Syntax(id)
			fmt.Fprintf(&b, "- `%s`: %s\n", syntax, description)
		}
	}
	switch hidden := len(commands.CurrentRules().Hidden(allowed)); hidden {
	case 0:
	case 1:
		b.WriteString("\n1 other command is not available to you.\n")
	default:
		fmt.Fprintf(&b, "\n%d other commands are not available to you.\n", hidden)
	}
	return b.String()
}

// shown returns the ids that this binary has, in the table's order, without aliases.
func shown(allowed []string) []string {
	var ids []string
	for _, row := range commands.CurrentRules().Rows() {
		if _, _, ok := Syntax(row.ID); ok && row.Alias == "" && slices.Contains(allowed, row.ID) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

package prompt

import (
	"fmt"
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
	for _, g := range grouped(Lines(role != "user", allowed)) {
		fmt.Fprintf(&b, "\n### %s\n\n", strings.ToUpper(g.name[:1])+g.name[1:])
		for _, id := range g.ids {
			u, _ := usageOf(id)
			fmt.Fprintf(&b, "- `maestro %s`: %s\n", u.syntax, u.describe(allowed))
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

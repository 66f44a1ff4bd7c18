package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"maestro/commands"
)

// need records at each command that does something the ids of the permission table that it needs.
func need(cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		need(verb)
	}
	ids, said := commands.Needs(lineID(cmd))
	if id := cmd.Annotations[commandID]; id != "" {
		ids, said = []string{id}, true
	}
	if !said {
		return
	}
	annotated(cmd, neededIDs, strings.Join(ids, ","))
}

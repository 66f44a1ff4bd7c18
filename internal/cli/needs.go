package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
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

// asTyped makes a refusal name the command line that was typed, if that consists of calls with other ids, and says
// which of them was refused.
func asTyped(called *cobra.Command, err error) error {
	var said *client.Error
	var own *failure.Error
	if errors.As(err, &own) || !errors.As(err, &said) || said.Rule == "" {
		return err
	}
	typed, denied := lineID(called), said.Denied()
	if denied == nil || said.Rule == typed || said.Rule == commands.AliasOf(typed) {
		return err
	}
	named := *said
	named.Message = "`" + called.CommandPath() + "` is not allowed for " + denied.Caller
	named.Why = "it needs " + said.Rule
	switch {
	case denied.For != "":
		named.Why += ", which is for: " + denied.For
	case said.Why != "":
		named.Why += ": " + said.Why
	}
	return &named
}

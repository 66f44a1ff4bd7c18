package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/service/wire"
)

// What the server says that a command line without an id of its own needs is what the command line needs.
func TestServerKnowsWhatLinesNeed(t *testing.T) {
	for _, u := range Usages((&Run{}).Root()) {
		if len(u.Needs) == 0 {
			continue
		}
		if needs, ok := commands.Needs(u.ID); !ok || !slices.Equal(needs, u.Needs) {
			t.Errorf("%s needs %v, and the server knows %v", u.ID, u.Needs, needs)
		}
	}
}

// A refusal names the command line that was typed, whichever of its calls was refused.
func TestRefusalsNameWhatWasTyped(t *testing.T) {
	lines := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
		if cmd.HasSubCommands() {
			return
		}
		lines++
		typed := lineID(cmd)
		for _, row := range commands.CurrentRules().Rows() {
			if own, _ := commands.CurrentRules().Row(typed); own.Alias == row.ID {
				continue
			}
			err := asTyped(cmd, &client.Error{Status: 403, Problem: wire.Problem{
				Rule:    row.ID,
				Message: "Command '" + row.ID + "' is not allowed for worker",
				Why:     "it is for: user",
				Details: []byte(`{"caller":"worker","for":"user"}`),
			}})
			var said *client.Error
			if !errors.As(err, &said) || !strings.Contains(said.Message, typed) &&
				!strings.Contains(said.Message, "`"+cmd.CommandPath()+"`") {
				t.Errorf("%s, refused as %s: %v", typed, row.ID, err)
			}
			if said.Rule != row.ID || typed != row.ID && !strings.Contains(said.Why, row.ID) {
				t.Errorf("%s, refused as %s, hides the row: %+v", typed, row.ID, said.Problem)
			}
		}
	}
	visit((&Run{}).Root())
	if lines < 60 {
		t.Errorf("only %d command lines", lines)
	}
}

package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
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

// firstRefused asks the server which of these commands the caller may not use, and returns the first; nil if it may use
// them all.
func firstRefused(ctx context.Context, c *client.Client, ids ...string) (*wire.CommandCheck, error) {
	for _, id := range ids {
		check, err := c.CheckCommand(ctx, id)
		if err != nil {
			return nil, err
		}
		if !check.Allowed {
			return &check, nil
		}
	}
	return nil, nil
}

// mayUse reports whether the server permits the caller a command. If the server cannot be asked, the answer is yes.
func (a *Run) mayUse(ctx context.Context, id string) bool {
	c, err := a.Connect(ctx)
	if err != nil {
		return true
	}
	refused, err := firstRefused(ctx, c, id)
	return err != nil || refused == nil
}

// refusedFor returns the refusal of a command that turned out to have nothing to do, nil if the caller may use it.
func (a *Run) refusedFor(ctx context.Context, id string) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	check, err := firstRefused(ctx, c, id)
	if err != nil || check == nil {
		return err
	}
	return &failure.Error{
		Code:    failure.NotAllowed,
		Message: check.Message,
		Why:     check.Why,
		Next:    check.Next,
	}
}

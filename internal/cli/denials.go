package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// auditDenials is `maestro audit denials`.
type auditDenials struct {
	*Run
	filter wire.DenialFilter
}

func newAuditDenials(a *Run) *cobra.Command {
	c := &auditDenials{Run: a}
	cmd := &cobra.Command{
		Use:   "denials",
		Short: "List the recorded refusals, newest last",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	bindQuery(cmd, &c.filter)
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return Tell(cmd, "audit:denials", "actor", "code", "command", "limit")
}

func (c *auditDenials) run(ctx context.Context, _ []string) error {
	filter := c.filter
	denials, err := Ask(ctx, c.Run, (*client.Client).Denials, filter)
	if err != nil {
		return err
	}
	if len(denials) == 0 && filter.Command != "" {
		check, err := Ask(ctx, c.Run, (*client.Client).CheckCommand, filter.Command)
		if err != nil {
			return err
		}
		if needs, ok := commands.Needs(filter.Command); ok {
			return failure.Usage("%q has no permission of its own, so nothing is refused by its name", filter.Command).
				WithNext("name what it needs: %s", cmp.Or(strings.Join(needs, ", "), "nothing"))
		}
		if check.Unknown {
			return failure.Usage("There is no command %q", filter.Command).
				WithNext("name an id such as task:complete; docs/permissions.md lists them")
		}
	}
	if len(denials) == 0 && filter.Actor != "" { // an actor that does not exist was refused nothing either
		_, err := Ask(ctx, c.Run, (*client.Client).Can, wire.CanQuery{Actor: filter.Actor, Command: "whoami"})
		if exitCode(err) == ExitNotFound {
			return err
		}
	}
	answerList(c.Run, denials, func(d wire.Denial) string { return d.ID }, func() {
		if len(denials) == 0 {
			c.Say("Nothing was refused\n")
		}
		for _, d := range denials {
			showDenial(c.Run, d)
		}
	})
	if c.JSON || c.quiet || len(denials) == 0 {
		return nil
	}
	return showNobodies(ctx, c.Run)
}

// showNobodies shows how many calls had no credential, if any: these are not recorded.
func showNobodies(ctx context.Context, a *Run) error {
	nobody, err := Look(ctx, a, (*client.Client).Unauthenticated)
	if err != nil || nobody.Count == 0 {
		return err
	}
	a.Print(
		"%s without a valid credential since %s\n", Many(int(min(nobody.Count, 1<<30)), "call"),
		Instant(nobody.Since),
	)
	return nil
}

// showDenial prints a refusal in two lines: who asked for what, and the answer.
func showDenial(a *Run, d wire.Denial) {
	about := d.Command
	if d.Kept {
		about += ", which had been kept"
	}
	if d.Rule != "" && d.Rule != d.Command {
		about += ", by the row " + d.Rule
	}
	if d.Count > 1 {
		about += fmt.Sprintf(", ×%d", d.Count)
	}
	if d.Sequence > 0 {
		about += fmt.Sprintf(", at event %d", d.Sequence)
	}
	a.hanging(Instant(d.Last)+"  ", a.told(withName(Who(d.Actor), d.ActorName), string(d.Code)+"  "+about))
	texts := []string{d.Text, d.Message}
	if d.Kept {
		texts = append(texts, d.Why)
	}
	for _, text := range texts {
		if text != "" {
			a.Print("    %s\n", clip(text, a.lineWidth()-len("    ")))
		}
	}
}

// auditLimits is `maestro audit limits`.
type auditLimits struct {
	*Run
}

func newAuditLimits(a *Run) *cobra.Command {
	c := &auditLimits{Run: a}
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "List the limits of the running server, and how many calls each has refused",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return cmd
}

func (c *auditLimits) run(ctx context.Context, _ []string) error {
	limits, err := Look(ctx, c.Run, (*client.Client).Limits)
	if err != nil {
		return err
	}
	columns := []string{"LIMIT", "VALUE", "REFUSED", "WHAT"}
	List(c.Run, limits, "There are no limits", columns, func(l wire.LimitView) []string {
		return []string{l.Name, l.Limit, fmt.Sprintf("%d refused", l.Refused), l.About}
	})
	return nil
}

// auditCan is `maestro audit can`.
type auditCan struct {
	*Run
	project string
}

func newAuditCan(a *Run) *cobra.Command {
	c := &auditCan{Run: a}
	cmd := &cobra.Command{
		Use:   "can <actor> [<commandId>] [<target>]",
		Short: "Show whether an actor may use a command, or list all commands that it may use",
		Args:  Takes,
		Long: `Show whether an actor may use a command, and which row of the permission table
decides that. The exit code is 0 if it may, and 4 if not. The actor is a
session, a token's name, or admin, system or runner. The command id is one
such as task:complete. The target is the task, session, question, project or
queue that the command would act on. The limits show how much of each quota is
left.

Without a command id, it lists the commands that the actor may use, those that
it may not use and why, and its quotas.`,
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.project, "project", "", "the project, where the target names none")
	ValueName(cmd, "project", "<projectId>")
	return Tell(cmd, "audit:can")
}

func (c *auditCan) run(ctx context.Context, args []string) error {
	query := wire.CanQuery{
		Actor:   args[0],
		Command: At(args, 1),
		Target:  At(args, 2),
		Project: c.project,
	}
	can, err := Ask(ctx, c.Run, (*client.Client).Can, query)
	if err != nil {
		return err
	}
	c.Result(can, func() {
		if can.Command == "" {
			c.showAll(can)
			return
		}
		word := "NOT ALLOWED"
		if can.Allowed {
			word = "allowed"
		}
		c.Print("%s for %s: %s\n", strings.TrimSpace(can.Command+" "+can.Target), can.Actor, word)
		c.Field("Why", can.Why)
		c.Field(
			"Row",
			can.Row.ID+", for "+can.Row.Who+Prefixed("; decided on: ", can.Row.Rule)+" (rules "+can.Row.Rules+")",
		)
		c.Field("But", can.Else)
		c.showLimits(can.Limits)
		c.Field("Next", can.Next)
	})
	if can.Allowed {
		return nil
	}
	return &failure.Error{Code: failure.NotAllowed, Shown: true}
}

func (c *auditCan) showLimits(limits []wire.CanLimit) {
	for _, limit := range limits {
		c.Field("Limit", fmt.Sprintf("%s: %s; %d left", limit.Name, limit.Limit, limit.Left))
	}
}

// showAll prints the commands that an actor may use by group, and the others by the reason of the refusal.
func (c *auditCan) showAll(can wire.Can) {
	c.Print("%s may use %s\n", can.Actor, Many(len(can.Commands), "command"))
	names, groups := grouped(can.Commands)
	for _, name := range names {
		c.Field(name, strings.Join(verbsOf(groups[name]), ", "))
	}
	for _, refused := range can.Refused {
		c.Print("May not use, because %s:\n", refused.Why)
		names, groups := grouped(refused.Commands)
		for _, name := range names {
			c.Field(name, strings.Join(verbsOf(groups[name]), ", "))
		}
	}
	c.showLimits(can.Limits)
}

// verbsOf returns command ids without their common noun.
func verbsOf(ids []string) []string {
	verbs := make([]string, len(ids))
	for i, id := range ids {
		if _, verb, ok := strings.Cut(id, ":"); ok {
			id = verb
		}
		verbs[i] = id
	}
	return verbs
}

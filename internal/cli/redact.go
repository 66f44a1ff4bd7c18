package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/internal/failure"
)

// auditRedact is `maestro audit redact`.
type auditRedact struct {
	*Run
	body  commands.RedactText
	event uint64
	key   string
}

func newAuditRedact(a *Run) *cobra.Command {
	c := &auditRedact{Run: a}
	cmd := &cobra.Command{
		Use:   "redact [<text>]",
		Short: "Remove a long text for good; the log still verifies",
		Args:  Takes,
		Long: `Remove a long text for good, such as one that holds a password: a report, a
description, or the manifest of a session. The log records who removed it and
why, and everyone who would read the text is shown that instead. The same text
is not accepted again.

Name the text by its digest, or the event that names it with --event.

What is inside of an event cannot be removed: the chain of the log depends on
it. That is every shorter text, and the first 1024 bytes of a long one. Backups
and copies of the home made before still hold the text: delete them yourself.
Then change the password.`,
		RunE: Running(c.run),
	}
	bind(cmd, &c.body)
	cmd.Flags().Uint64Var(&c.event, "event", 0, "the event that names the text, in place of a digest")
	ValueName(cmd, "event", "<sequence>")
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "audit:redact", "reason!")
}

func (c *auditRedact) run(ctx context.Context, args []string) (err error) {
	c.body.Text = At(args, 0)
	switch {
	case c.body.Text != "" && c.event != 0:
		return failure.Usage("A digest and --event both name the text").WithNext("leave out one of them")
	case c.body.Text == "" && c.event == 0:
		return failure.Usage("Name a digest, or an event with --event").
			WithNext("find the event with `maestro events`, and name it: `maestro audit redact --event <sequence>`")
	case c.event != 0:
		if c.body.Text, err = textOfEvent(ctx, c.Run, c.event); err != nil {
			return err
		}
	}
	answer, err := c.send(ctx, c.body.ID(), &c.body, c.key)
	if err != nil {
		return err
	}
	c.wrote(answer, c.body.Text, "Removed the text %s for good", c.body.Text)
	return nil
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
)

// sessionComplete is `maestro session complete`.
type sessionComplete struct {
	*Run
	fields *fields
	body   commands.CompleteSession
	key    string
}

// refusesToEnd says when a session's last command is refused: client.Options.IfFinished.
const refusesToEnd = `The command that ends your session is refused while the session
holds an item of a queue: finish the item first, with "maestro queue complete",
"maestro queue fail" or "maestro queue skip". It is also refused while you have
unread mail, which it shows: act on that, then run it again.`

func newSessionComplete(a *Run) *cobra.Command {
	c := &sessionComplete{Run: a}
	cmd := &cobra.Command{
		Use:   "complete [<sessionId>]",
		Short: "Report that your session is done; run this last",
		Args:  Takes,
		Long: `Report that your session is done. Run this last.

` + refusesToEnd,
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:complete", ownOnly)
}

func (c *sessionComplete) run(ctx context.Context, args []string) error {
	if _, err := sessionNamed(c.Run, At(args, 0)); err != nil {
		return err
	}
	if err := c.fields.set(args); err != nil {
		return err
	}
	o := client.Options{Key: c.key, IfFinished: true}
	return tellOrKeep(ctx, c.Run, "session:complete", &c.body, o, func(answer client.Answer) {
		if answer.Event == nil && !c.JSON && !c.dryRun {
			c.Print("The session had already reported that it is done\n")
			return
		}
		c.wrote(answer, c.body.SessionID, "The session is completed")
	})
}

// sessionKill is `maestro session kill`.
type sessionKill struct {
	*Run
	fields *fields
	body   commands.KillSession
	key    string
	tree   bool
}

func newSessionKill(a *Run) *cobra.Command {
	c := &sessionKill{Run: a}
	cmd := &cobra.Command{
		Use:   "kill <sessionId>",
		Short: "End a session",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	treeFlag(cmd, &c.tree, "end")
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:kill", "reason", "failed")
}

func (c *sessionKill) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	answer, err := c.sendWith(ctx, "session:kill", &c.body, client.Options{Key: c.key, Tree: c.tree})
	if err != nil {
		return err
	}
	if answer.Event == nil && !c.JSON {
		c.Print("Session %s had already ended\n", args[0])
	} else {
		c.wrote(answer, args[0], "Ended session %s", args[0])
	}
	if !c.JSON {
		tellBelow(c.Run, answer, "end", "Ended", "maestro session kill "+args[0]+" --tree")
	}
	return nil
}

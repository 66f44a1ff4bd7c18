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
	key string
}

func newSessionComplete(a *Run) *cobra.Command {
	c := &sessionComplete{Run: a}
	cmd := &cobra.Command{
		Use: "complete [ID]", Short: "Say that a session is done, its own if none is named", Args: Takes("[ID]"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionComplete) run(ctx context.Context, args []string) error {
	if _, err := sessionNamed(c.Run, At(args, 0)); err != nil {
		return err
	}
	return tellOrKeep(
		ctx, c.Run,
		"session:complete",
		&commands.CompleteSession{SessionID: At(args, 0)},
		c.key,
		func(answer client.Answer) {
			c.wrote(answer, At(args, 0), "The session is completed")
		},
	)
}

// sessionKill is `maestro session kill`.
type sessionKill struct {
	*Run
	body commands.KillSession
	key  string
	tree bool
}

func newSessionKill(a *Run) *cobra.Command {
	c := &sessionKill{Run: a}
	cmd := &cobra.Command{
		Use: "kill ID", Short: "End a session, with --tree also those that it spawned", Args: Takes("ID"),
		RunE: Running(c.run),
	}
	treeFlag(cmd, &c.tree, "end")
	cmd.Flags().StringVar(&c.body.Reason, "reason", "", "why")
	cmd.Flags().BoolVar(&c.body.Failed, "failed", false, "it ends as failed, not as stopped")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionKill) run(ctx context.Context, args []string) error {
	c.body.SessionID = args[0]
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

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
)

func (a *Run) sessionComplete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "complete [ID]", Short: "Say that a session is done, its own if none is named", Args: Takes("[ID]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if _, err := a.session(at(args, 0)); err != nil {
				return err
			}
			return a.tell(
				ctx,
				"session:complete",
				&commands.CompleteSession{SessionID: at(args, 0)},
				key,
				func(answer client.Answer) {
					a.wrote(answer, at(args, 0), "The session is completed")
				},
			)
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) sessionKill() *cobra.Command {
	var body commands.KillSession
	var key string
	var tree bool
	cmd := &cobra.Command{
		Use: "kill ID", Short: "End a session, with --tree also those that it spawned", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			body.SessionID = args[0]
			answer, err := a.sendWith(ctx, "session:kill", &body, client.Options{Key: key, Tree: tree})
			if err != nil {
				return err
			}
			if answer.Event == nil && !a.JSON {
				a.Print("Session %s had already ended\n", args[0])
			} else {
				a.wrote(answer, args[0], "Ended session %s", args[0])
			}
			if !a.JSON {
				a.below(answer, "end", "Ended", "maestro session kill "+args[0]+" --tree")
			}
			return nil
		}),
	}
	treeFlag(cmd, &tree, "end")
	cmd.Flags().StringVar(&body.Reason, "reason", "", "why")
	cmd.Flags().BoolVar(&body.Failed, "failed", false, "it ends as failed, not as stopped")
	a.keyFlag(cmd, &key)
	return cmd
}

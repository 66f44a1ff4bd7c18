package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/safetext"
)

func (a *Run) trackFileCommand() *cobra.Command {
	var body commands.TrackFile
	var key string
	cmd := &cobra.Command{
		Use: "track-file PATH", Short: "Record that a file was changed", Args: Takes("PATH"),
		RunE: Running(func(ctx context.Context, args []string) error {
			body.File = args[0]
			return a.tell(ctx, "track-file", &body, key, func(answer client.Answer) {
				a.wrote(answer, "", "Tracked %s", safetext.OneLine(args[0]))
			})
		}),
	}
	cmd.Flags().StringVar(&body.TaskID, "task", "", "the task that it was for")
	cmd.Flags().StringVar(&body.SessionID, "session", "", "the session that changed it; its own if absent")
	a.keyFlag(cmd, &key)
	return cmd
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/safetext"
)

// trackFile is `maestro track-file`.
type trackFile struct {
	*Run
	body commands.TrackFile
	key  string
}

func newTrackFile(a *Run) *cobra.Command {
	c := &trackFile{Run: a}
	cmd := &cobra.Command{
		Use: "track-file PATH", Short: "Record that a file was changed", Args: Takes("PATH"),
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.body.TaskID, "task", "", "the task that it was for")
	cmd.Flags().StringVar(&c.body.SessionID, "session", "", "the session that changed it; its own if absent")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *trackFile) run(ctx context.Context, args []string) error {
	c.body.File = args[0]
	return tellOrKeep(ctx, c.Run, "track-file", &c.body, c.key, func(answer client.Answer) {
		c.wrote(answer, "", "Tracked %s", safetext.OneLine(args[0]))
	})
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// trackFile is `maestro track-file`.
type trackFile struct {
	*Run
	fields *fields
	body   commands.TrackFile
	key    string
}

func newTrackFile(a *Run) *cobra.Command {
	c := &trackFile{Run: a}
	cmd := &cobra.Command{
		Use:   "track-file <path>",
		Short: "Record that a file was changed",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "track-file", "task")
}

func (c *trackFile) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.body.SessionID == "" && !c.isSession() {
		return c.noSession(failure.Usage("Only a session tracks files").
			WithNext("name it with --session; see `maestro session list`"))
	}
	return tellOrKeep(ctx, c.Run, "track-file", &c.body, client.Options{Key: c.key}, func(answer client.Answer) {
		c.wrote(answer, "", "Tracked %s", safetext.OneLine(args[0]))
	})
}

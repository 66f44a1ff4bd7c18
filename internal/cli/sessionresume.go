package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
)

// sessionResume is `maestro session resume`.
type sessionResume struct {
	*Run
	fields *fields
	body   commands.ResumeSession
	key    string
}

func newSessionResume(a *Run) *cobra.Command {
	c := &sessionResume{Run: a}
	cmd := &cobra.Command{
		Use:   "resume <sessionId>",
		Short: "Let the agent of a session that ended continue",
		Args:  Takes,
		Long: `Let the next run of a session begin: its runner launches the agent again, which
continues what it did. The session may have ended, be lost, or wait for an
answer, but one of its tasks has to be open. It gets a new secret: an agent of
an earlier run that survived somewhere can do nothing more.`,
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:resume")
}

func (c *sessionResume) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if err := c.recordLeft(ctx, args[0]); err != nil {
		return err
	}
	answer, err := c.send(ctx, "session:resume", &c.body, c.key)
	if err != nil {
		return err
	}
	if answer.Event == nil && !c.JSON {
		c.Print("Session %s needs no resuming: its run goes on, or its next one may begin already\n", args[0])
	} else if err := c.resumed(answer, args[0]); err != nil {
		return err
	}
	x, err := Ask(ctx, c.Run, (*client.Client).Session, args[0])
	if err == nil && x.Runner == "" && !hasRun(x) && !c.dryRun {
		c.Say("maestro: no runner launches its agent, and the secret of its earlier runs is not valid any more: run "+
			"%s in a shell without the session's variables\n", launchLine(x, initOptions{}))
	}
	return nil
}

// recordLeft records how the last run ended if that is known on this machine alone: the session goes on until then.
func (c *sessionResume) recordLeft(ctx context.Context, session string) error {
	if c.dryRun || c.isSession() {
		return nil
	}
	x, err := Ask(ctx, c.Run, (*client.Client).Session, session)
	if err != nil {
		return nil //nolint:nilerr // the command says why not
	}
	_, err = recordLeft(ctx, c.Run, x)
	return err
}

// resumed prints that the next run of a session may begin.
func (c *sessionResume) resumed(answer client.Answer, session string) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	run := 0
	if resumed, ok := data.(*events.SessionResumed); ok {
		run = resumed.Run
	}
	c.wrote(answer, session, "Resumed session %s: run %d may begin", session, run)
	return nil
}

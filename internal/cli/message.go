package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/internal/failure"
)

// sessionMessage is `maestro session message`.
type sessionMessage struct {
	*Run
	fields  *fields
	body    commands.MessageSession
	key     string
	all     bool
	project string
}

// parent is the word for the session that spawned the caller.
const parent = "parent"

func newSessionMessage(a *Run) *cobra.Command {
	c := &sessionMessage{Run: a}
	cmd := &cobra.Command{
		Use: `message <sessionId> "<text>"`,
		Short: `Send a message to a session, which sees it with its next command; "parent" is the session that ` +
			`spawned you`,
		Long: `Send a message to a session, which gets it with its next command. A session may
write to the session that spawned it ("parent"), an orchestrator also to the
sessions that it spawned, and a user to any session.

With --all, and without <sessionId>, the message goes to a whole team: from an
orchestrator to all sessions that it spawned, from a user to all sessions of a
project. Sessions that have ended or whose work is done do not get it. If you
retry with the same --key, only sessions that have not been sent the message
get it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.all && len(args) < 2 {
				return Takes(cmd, append([]string{"all"}, args...))
			}
			return Takes(cmd, args)
		},
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	cmd.Flags().BoolVar(&c.all, "all", false,
		"send it to every working session that you spawned, or for a user, of the project")
	projectFlag(cmd, &c.project)
	a.keyFlag(cmd, &c.key)
	return AlsoTell(Tell(cmd, "session:message", "about"), "session:spawn",
		"--all in place of <sessionId> means all that you spawned")
}

func (c *sessionMessage) run(ctx context.Context, args []string) error {
	switch {
	case c.all && len(args) != 1:
		return failure.Usage("--all takes the message only").WithNext("leave out <sessionId>")
	case c.all:
		return c.toAll(ctx, args[0])
	case c.project != "":
		return failure.Usage("--project says whom --all means").WithNext("add --all, or leave --project out")
	}
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.body.SessionID == parent {
		if !c.isSession() {
			return failure.Usage("Only a session has a parent").WithNext("name the session; see `maestro session list`")
		}
		c.body.SessionID = ""
	}
	answer, err := c.send(ctx, "session:message", &c.body, c.key)
	if err != nil {
		return err
	}
	to, err := made(answer)
	if err != nil {
		return err
	}
	c.wrote(answer, to, "Sent to session %s, which sees the message with its next command", to)
	return nil
}

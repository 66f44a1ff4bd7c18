package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// sessionMessage is `maestro session message`.
type sessionMessage struct {
	*Run
	fields *fields
	body   commands.MessageSession
	key    string
}

// parent stands for the session that spawned the caller.
const parent = "parent"

func newSessionMessage(a *Run) *cobra.Command {
	c := &sessionMessage{Run: a}
	cmd := &cobra.Command{
		Use:   `message <sessionId> "<text>"`,
		Short: `Send a message to a session, which sees it with its next command; "parent" is the session that spawned you`,
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:message", "about")
}

func (c *sessionMessage) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.body.SessionID == parent {
		if !c.isSession() {
			return failure.Usage("Only a session has a parent").WithNext("name the session; see `maestro session list`")
		}
		c.body.SessionID = ""
	}
	if err := c.textOrInput(&c.body.Text); err != nil {
		return err
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

// showMail shows a session, after its command, the answers and messages that it was not shown yet. On stderr: stdout is
// the command's.
func (a *Run) showMail(ctx context.Context) {
	if len(a.waiting) == 0 || a.dryRun || !a.isSession() || a.orphaned() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mailWithin)
	defer cancel()
	c, err := a.Connect(ctx)
	if err != nil {
		return // the next command tries again
	}
	box, err := c.Mail(ctx, a.sessionID())
	if err != nil {
		return
	}
	for _, mail := range box.Mail {
		a.Say("maestro: %s\n", wordsOf(mail))
		// It is shown again if this does not arrive: better twice than not at all.
		_ = shown(ctx, c, mail.ID)
	}
	if box.More > 0 {
		a.Say("maestro: more wait: %d; your next command shows them\n", box.More)
	}
}

// wordsOf says what a piece of mail is, and from whom.
func wordsOf(mail wire.Mail) string {
	from, text := writerOf(mail.From), quoted(mail.Text)
	switch mail.Kind {
	case wire.MailAnswer:
		return fmt.Sprintf("your question %s “%s” is answered: %s", mail.ID, safetext.Clip(mail.Question, 100), text)
	case wire.MailReopened:
		return fmt.Sprintf("task %s was reopened by %s%s", mail.About, from, Prefixed(": ", text))
	case wire.MailUnblocked:
		return fmt.Sprintf("task %s is no longer blocked, says %s%s", mail.About, from, Prefixed(": ", text))
	case wire.MailMessage:
	}
	return fmt.Sprintf("message from %s%s: %s", from, Prefixed(" about ", mail.About), text)
}

// quoted marks the further lines of what others wrote, so that no line of it looks like one of Maestro's own.
func quoted(text string) string { return strings.ReplaceAll(text, "\n", "\n  | ") }

// writerOf names who wrote a message.
func writerOf(source string) string {
	if _, session, ok := wire.SessionOfSource(source); ok {
		return "session " + session
	}
	return "user " + strings.TrimPrefix(source, "/users/")
}

// shown lets the server know that mail was shown.
func shown(ctx context.Context, c *client.Client, id string) error {
	_, err := c.Do(ctx, "input:received", &commands.ReceiveInput{InputID: id}, client.Options{Key: "received-" + id})
	return err
}

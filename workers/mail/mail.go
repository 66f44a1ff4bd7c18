package mail

import (
	"fmt"
	"strings"

	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Words describes a piece of mail and its sender. Whoever shows it escapes it with [safetext.Harmless].
func Words(mail wire.Mail) string {
	from, text := writerOf(mail.From, mail.FromName), Quoted(mail.Text)
	about := safetext.Named(mail.About, mail.AboutTitle)
	switch {
	case mail.Cut && mail.Kind == wire.MailAnswer:
		text += " (cut: `maestro input wait " + mail.ID + "` shows all of it)"
	case mail.Cut:
		text += " (cut: `maestro task get " + mail.About + "` shows all of it)"
	}
	switch mail.Kind {
	case wire.MailAnswer:
		return fmt.Sprintf("your question %s “%s” is answered: %s", mail.ID, safetext.Clip(mail.Question, 100), text)
	case wire.MailReopened:
		return fmt.Sprintf("task %s was reopened by %s%s", about, from, prefixed(": ", text))
	case wire.MailUnblocked:
		return fmt.Sprintf("task %s is no longer blocked, says %s%s", about, from, prefixed(": ", text))
	case wire.MailBlocked:
		return fmt.Sprintf("task %s was blocked by %s%s", about, from, prefixed(": ", text))
	case wire.MailCancelled:
		return fmt.Sprintf("task %s was cancelled by %s%s", about, from, prefixed(": ", text))
	case wire.MailCompleted:
		return fmt.Sprintf("task %s was completed by %s: no more work on it is needed", about, from)
	case wire.MailDeleted:
		return fmt.Sprintf("task %s was deleted by %s: no more work on it is needed", about, from)
	case wire.MailMessage:
	}
	return fmt.Sprintf("message from %s%s: %s", from, prefixed(" about ", about), text)
}

// Quoted marks continuation lines of foreign text, so that none looks like a line of Maestro's own.
func Quoted(text string) string { return strings.ReplaceAll(text, "\n", "\n  | ") }

// writerOf names the writer of a message.
func writerOf(source, name string) string {
	if _, session, ok := wire.SessionOfSource(source); ok {
		return "session " + safetext.Named(session, name)
	}
	user, _ := wire.UserOfSource(source)
	return "user " + user
}

// prefixed adds a prefix to a text, if it is not empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

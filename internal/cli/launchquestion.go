package cli

import (
	"context"
	"strings"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// launchQuestions returns the open questions of a session's run that cannot start its agent.
func launchQuestions(ctx context.Context, a *Run, session string) (open []wire.InboxItem) {
	items, err := Ask(ctx, a, (*client.Client).Inbox, wire.InboxFilter{SessionID: session, Kind: "question"})
	if err != nil {
		return nil // nothing is known of any
	}
	for _, item := range items {
		if item.Run != 0 {
			open = append(open, item)
		}
	}
	return open
}

// LaunchQuestion returns what a run asks that cannot start its agent, in one line, and how it is answered.
func LaunchQuestion(item wire.InboxItem) (asks, next string) {
	asks = events.PreflightWrong(item.Message)
	answers := make([]string, len(item.Options))
	for i, option := range item.Options {
		answers[i] = safetext.Quoted(option)
	}
	if len(answers) == 0 {
		answers = []string{`"<answer>"`}
	}
	next = "`maestro inbox --session " + item.SessionID + "` says what repairs it; then run `maestro input answer " +
		item.InputID + " " + answers[0] + "`"
	if len(answers) > 1 {
		next += ", or answer " + strings.Join(answers[1:], " or ")
	}
	return safetext.OneLine(asks), next
}

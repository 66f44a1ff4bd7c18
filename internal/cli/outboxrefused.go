package cli

import (
	"context"
	"time"

	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/workers/outbox"
)

// tellRefused shows the session which of its kept commands the server of this home delivered and refused since its last
// command.
func tellRefused(ctx context.Context, a *Run) {
	box, done, err := openOutbox(a, home.Open)
	if err != nil {
		return // waitingCommands reports it
	}
	defer done()
	refused, err := box.TakeRefused(ctx, mailWithin)
	if err != nil {
		a.Say("maestro: cannot tell whether kept commands of this session were refused: %s\n", err)
	}
	for _, r := range refused {
		a.sayRefused(r)
	}
}

// sayRefused tells the session that a kept command was refused: it goes on as if it had been accepted.
func (a *Run) sayRefused(r outbox.Refused) {
	a.Say(
		"maestro: a kept command was refused: %s%s of %s, key %s: %s\n",
		r.Command,
		Prefixed(" ", safetext.OneLine(r.Said)),
		r.OccurredAt.UTC().Format(time.RFC3339),
		r.Key,
		safetext.OneLine(r.Message),
	)
	if r.Why != "" {
		a.Say("  why:  %s\n", safetext.OneLine(r.Why))
	}
	next := safetext.OneLine(r.Next)
	if !r.Denied || next == "" {
		next = "correct it, and send it again" + Prefixed("; ", next)
	}
	a.Say("  next: it had no effect: %s\n", next)
}

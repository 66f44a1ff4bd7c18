package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/workers/outbox"
)

const (
	// beforeMost bounds how long a resume waits for the delivery of what its session kept. That is enough after a short
	// absence of the server, but not for a full outbox.
	beforeMost = 10 * time.Second
	// patienceBefore is busyPatience before a resume: what is not delivered by then never is.
	patienceBefore = 2 * time.Second
)

// beforeResume delivers what a session kept, before its resume replaces the secret that proves it. It returns how many
// kept commands still wait: those are set aside later, and shown. It delivers nothing for a request that would resume
// nothing now, so that only who may resume a session takes turns of its outbox.
func (s *Service) beforeResume(
	ctx context.Context, c *Caller, request engine.Request, session string,
) (left int, err error) {
	d := s.delivery.Load()
	if d == nil {
		return 0, nil
	}
	if err := s.payAhead(ctx, c, 1); err != nil {
		return 0, err
	}
	answer, err := s.try(ctx, c, request)
	var refusal *commands.Refusal
	switch {
	case errors.As(err, &refusal): // the decision refuses it too, and records the refusal
		return 0, nil
	case err != nil:
		return 0, err
	case answer.Event == nil || answer.Retried:
		return 0, nil
	}
	return d.before(ctx, session), nil
}

// before gives a session turns until nothing waits, or beforeMost is over. It returns how many entries still wait.
func (d *Delivery) before(ctx context.Context, session string) (left int) {
	ctx, cancel := context.WithTimeout(ctx, beforeMost)
	defer cancel()
	warn := func(session, message string, err error) {
		if err != nil {
			d.logger.Warn(message, "session", session, "why", inFull(err), "then",
				"it is resumed, and what still waits is set aside")
		}
	}
	for d.waiting(session) > 0 {
		rest, more := d.take(ctx, session, patienceBefore, warn)
		if !more || !rested(ctx, rest) {
			break
		}
	}
	return d.waiting(session)
}

// waiting counts the entries of a session; 0 if they cannot be listed. It creates nothing.
func (d *Delivery) waiting(session string) int {
	box, err := outbox.Open(d.home, session, func() string { return "" })
	if err != nil {
		return 0
	}
	n, err := box.Waiting()
	if err != nil {
		return 0
	}
	return n
}

// rested waits, and reports whether ctx goes on.
func rested(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// leftUndelivered warns of kept commands that a resume found and that could not be delivered before it.
func leftUndelivered(session string, n int) string {
	kept, them := fmt.Sprintf("%d kept commands", n), "them"
	if n == 1 {
		kept, them = "1 kept command", "it"
	}
	_, replaced := outbox.AsideDirs(session)
	return kept + " of session " + session + " could not be delivered before its secret was replaced: the server " +
		"will put " + them + " into " + replaced + " of its home; have the session say again what still counts"
}

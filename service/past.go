package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
)

// LookBack makes the caller read the state as it was at a moment: after the event with a sequence, or at a time in RFC
// 3339, which means after the last event up to that time. The caller needs the permission for what it reads at both
// times: now and then. It fails with a *Problem.
func (s *Service) LookBack(ctx context.Context, c *Caller, moment string) error {
	leave, err := s.admitted(ctx, c, Demand{ReadsLog: true})
	if err != nil {
		return err
	}
	defer leave()
	rule := queryRules[c.asks]
	if !rule.past {
		return InvalidRequest("/at", "this read shows only the present: leave out at")
	}
	if c.isPage() {
		return ErrPage
	}
	for _, row := range rule.rows {
		if err = s.Permit(c, row, ""); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	good, done := s.WhileGood(ctx, c)
	defer done()
	sequence, at, err := s.sequenceAt(moment)
	if err == nil {
		c.past, err = s.pastAt(good, c, sequence)
	}
	if over := c.EndReason(good); err != nil && over != nil {
		return over
	}
	var missing *engine.NotCommittedError
	switch {
	case errors.As(err, &missing):
		refused := Invalid("/at", "There is no event %d yet: the newest is %d", missing.Sequence, missing.Head)
		refused.Next = pastNext
		return refused
	case err != nil:
		return err
	}
	if c.then = at; at.IsZero() {
		c.then = c.past.At()
	}
	return s.existedThen(c)
}

// existedThen refuses a session that looks back to a moment before it existed: it had no permissions then.
func (s *Service) existedThen(c *Caller) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	existed, since := false, int64(0)
	c.past.View(func(state *projections.State) { existed = state.SessionEver(c.By.Name) != nil })
	if existed {
		return nil
	}
	s.Handler.View(func(state *projections.State) {
		if x := state.SessionEver(c.By.Name); x != nil {
			since = x.StartedAt
		}
	})
	refusal := Invalid("/at", "Session '%s' did not exist yet after event %d", c.By.Name, c.past.Sequence())
	refusal.Why = "a session reads only moments since it was created"
	refusal.Next = "name a moment from " + time.UnixMilli(since).UTC().Format("2006-01-02T15:04:05.000Z") + " on"
	return refusal
}

// waitsInPast refuses to wait for what was.
func waitsInPast() error {
	return InvalidRequest("/wait", "a read of a moment does not wait: leave out wait, or at")
}

// HeadFor returns the sequence of the state that a caller reads; nil for an unknown caller.
func (s *Service) HeadFor(c *Caller) uint64 {
	if c != nil && c.past != nil {
		return c.past.Sequence()
	}
	return s.Head()
}

// pastAt returns the state after an event. It counts as read until the caller leaves.
func (s *Service) pastAt(ctx context.Context, c *Caller, sequence uint64) (*engine.Past, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, pastWait, errPastsTaken)
	defer cancel()
	past, release, err := s.pasts.take(waiting, readerOf(c.By), sequence, func() (*engine.Past, error) {
		past, folded, err := s.Handler.Past(ctx, sequence)
		c.chargeSteps(StepsPerRead * (1 + int(folded/EventsPerRead))) //nolint:gosec // far fewer than an int holds
		return past, err
	})
	if errors.Is(err, errPastsTaken) {
		return nil, &Problem{
			Kind:    KindBusy,
			Code:    codeLimited,
			Message: "Too many moments are read at once",
			Why: "the server keeps the state of each moment until its answers are read; " + c.By.String() +
				" may read " + strconv.Itoa(readerOf(c.By).most) +
				" at once, and fewer while others read other moments",
			Next:       "finish reading the answers that are open, then try again",
			RetryAfter: time.Second,
		}
	}
	if err != nil {
		return nil, err
	}
	c.admission.whenLeaving(release)
	return past, nil
}

// pastNext is the next step of a caller who asks for a moment that is still to come.
const pastNext = "leave `at` out for what is there now; `maestro events` lists events with their times"

// sequenceAt returns the sequence that a moment means, and the time if it is one.
func (s *Service) sequenceAt(moment string) (sequence uint64, at time.Time, err error) {
	if sequence, err = strconv.ParseUint(moment, 10, 64); err == nil {
		return sequence, at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, moment); err != nil {
		return 0, at, Invalid(
			"/at", "at must be the number of an event, or a time such as 2026-01-31T12:00:00Z, not '%s'",
			safetext.Printable(moment),
		)
	}
	if at.After(s.Now()) {
		refused := Invalid("/at", "%s is in the future", safetext.Printable(moment))
		refused.Next = pastNext
		return 0, at, refused
	}
	return s.tape().Until(at), at, nil
}

// now is the time at which the caller reads: the present, or the moment that it looks back to. An event's moment is its
// time.
func (v View) now() time.Time {
	if v.past {
		return v.Caller.then
	}
	return v.Service.Now()
}

// permitPresent checks a permission in the present state, for a caller that reads a past one.
func (v View) permitPresent(row, project string) (err error) {
	v.Service.Handler.View(func(present *projections.State) {
		err = commands.Permit(present, commands.CurrentRules(), v.Caller.By, row, project)
	})
	return err
}

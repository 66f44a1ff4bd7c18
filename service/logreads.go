package service

import (
	"context"

	"maestro/engine"
	"maestro/events"
)

// readingLog admits a call whose work grows with the log. The call ends with its caller's credential or with the
// server.
func (s *Service) readingLog(
	ctx context.Context, c *Caller, q Query, read func(ctx context.Context) error,
) error {
	leave, err := s.admitted(ctx, c, Demand{ReadsLog: true})
	if err != nil {
		return err
	}
	defer leave()
	if err := s.Ask(c, q); err != nil {
		return err
	}
	good, done := s.WhileGood(ctx, c)
	defer done()
	err = read(good)
	if over := c.EndReason(good); err != nil && over != nil {
		return over
	}
	return err
}

// copyHeld is the memory that a copy of the log takes until its caller has received it, in bytes.
const copyHeld = 1 << 20

// copying is readingLog for a copy of the log that is sent while it is read: its memory counts as an unread answer.
func (s *Service) copying(
	ctx context.Context, c *Caller, q Query, read func(ctx context.Context) error,
) error {
	return s.readingLog(ctx, c, q, func(ctx context.Context) error {
		if err := c.admission.Render(copyHeld); err != nil {
			return err
		}
		defer c.admission.Free(copyHeld)
		return read(ctx)
	})
}

// chargedLog is a log whose reads are charged to the caller, and end when the caller stops waiting.
type chargedLog struct {
	engine.Log
	caller *Caller
}

// logFor returns the log for a call that reads much of it.
func (s *Service) logFor(c *Caller) engine.Log { return chargedLog{s.Log, c} }

// Read implements engine.Log. Every [EventsPerRead] events count as one more read when they are read: a caller that
// gives up has paid for what was read.
func (l chargedLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	read := 0
	return l.Log.Read(ctx, from, to, func(m events.Message) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if read++; read%EventsPerRead == 0 {
			l.caller.chargeSteps(StepsPerRead)
		}
		return yield(m)
	})
}

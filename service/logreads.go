package service

import (
	"context"

	"maestro/engine"
	"maestro/events"
)

// chargedLog is a log whose reading its caller pays for, and that is read only as long as the caller waits.
type chargedLog struct {
	engine.Log
	caller *Caller
}

// logFor gives the log for a call that reads much of it.
func (s *Service) logFor(c *Caller) engine.Log { return chargedLog{s.Log, c} }

// Read implements engine.Log. Each [EventsPerRead] events count as one more read, while they are read: who gives up has
// paid for what was read.
func (l chargedLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	read := 0
	return l.Log.Read(ctx, from, to, func(m events.Message) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if read++; read%EventsPerRead == 0 {
			l.caller.looked(StepsPerRead)
		}
		return yield(m)
	})
}

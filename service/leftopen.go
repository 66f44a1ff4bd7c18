package service

import (
	"context"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// completedBy returns the session that an event completes, "" if it completes none.
func completedBy(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionCompleted:
		return d.SessionID
	case *events.SessionReported:
		if d.SessionCompleted {
			return d.SessionID
		}
	}
	return ""
}

// leftOpen lists the tasks that a session leaves open. The command has succeeded, so a caller that has used up its
// reads gets no list.
func (s *Service) leftOpen(ctx context.Context, c *Caller, session string) (left wire.LeftOpen) {
	err := s.work(ctx, c, func(v View) error {
		left.LeavesOpen, left.LeavesOpenMore = v.LeftOpen(v.Session(session), projections.MostNamed)
		return nil
	})
	if err != nil {
		return wire.LeftOpen{}
	}
	return left
}

package service

import (
	"context"

	"maestro/projections"
)

// Load is what a Service is doing now, and how much it did since it began.
type Load struct {
	// Readers watch the live views. Lag is how many events the views are behind the state; 0 if nobody watches.
	Readers int
	Lag     uint64
	// Rereads counts the times that a reader was so slow that its frames were read from the log again.
	Rereads uint64
	// Unread counts the readers that were cut off because they did not read.
	Unread uint64
	// Refused counts the calls over each limit, by its name.
	Refused map[string]uint64
	// Unauthenticated counts the calls and connections without a valid credential.
	Unauthenticated uint64
}

// MayReadMetrics refuses a caller that may not read the server's figures. Whoever serves them asks it for each reading.
func (s *Service) MayReadMetrics(ctx context.Context, c *Caller) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	return s.Permit(c, "audit:denials", "")
}

// Load returns what the Service is doing now.
func (s *Service) Load() Load {
	load := Load{
		Refused:         map[string]uint64{},
		Rereads:         s.Views.rereads.Load(),
		Unread:          s.Views.unread.Load(),
		Unauthenticated: s.unauthenticated.Load(),
	}
	var head, next uint64
	s.Views.mu.RLock()
	load.Readers, next = s.Views.readers, s.Views.next
	s.Views.mu.RUnlock()
	s.Handler.View(func(state *projections.State) { head = state.Head().Sequence })
	if next > 0 && head >= next {
		load.Lag = head - next + 1
	}
	for _, q := range quotas {
		load.Refused[q.Name] = s.ledger.refusals(q.Name)
	}
	return load
}

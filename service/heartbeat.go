package service

import (
	"context"
	"time"

	"maestro/commands"
)

// RowOfHeartbeat is the row of the permission table for a heartbeat.
const RowOfHeartbeat = "whoami"

// Heartbeat notes that a session's supervisor is alive; it causes no event. After the first one, silence counts against
// the short lease.
func (s *Service) Heartbeat(ctx context.Context, c *Caller, session string) error {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return err
	}
	defer leave()
	if c.By.Kind != commands.ActorSession || c.By.Name != session {
		return c.OtherIdentity(session)
	}
	if err = s.Permit(c, RowOfHeartbeat, ""); err != nil || s.Leases == nil {
		return err
	}
	return s.Leases.Heartbeat(ctx, session)
}

// Lease is how long a session that sends heartbeats may be silent; 0 if there are no leases.
func (s *Service) Lease() time.Duration {
	if s.Leases == nil {
		return 0
	}
	return s.Leases.Lease()
}

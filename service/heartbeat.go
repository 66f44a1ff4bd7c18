package service

import (
	"context"

	"maestro/commands"
)

// Heartbeat notes that a session's supervisor says it is there; no event comes of it. From the first one on, silence
// counts against the short lease.
func (s *Service) Heartbeat(ctx context.Context, c *Caller, session string) error {
	if c.By.Kind != commands.ActorSession || c.By.Name != session {
		return c.OtherIdentity(session)
	}
	if err := s.Permit(c, "whoami", ""); err != nil || s.Leases == nil {
		return err
	}
	return s.Leases.Heartbeat(ctx, session)
}

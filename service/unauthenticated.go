package service

import (
	"maestro/events"
	"maestro/service/wire"
)

// NoteUnauthenticated counts a call or a connection without a valid credential, whichever interface it came by. It is
// not recorded.
func (s *Service) NoteUnauthenticated() { s.unauthenticated.Add(1) }

// CountUnauthenticated says how many calls came without a valid credential.
func (v View) CountUnauthenticated() (wire.Unauthenticated, error) {
	count := wire.Unauthenticated{
		Count: v.Service.unauthenticated.Load(),
		Since: events.Millis(v.Service.began.UnixMilli()),
	}
	return count, v.Permit("audit:denials", "")
}

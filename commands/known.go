package commands

import (
	"maestro/events"
	"maestro/projections"
)

// ProjectOf gives the project that a request is about; "" for none.
func ProjectOf(s *projections.State, r Request) string { return r.Command.project(s, r.By) }

// Known reports whether a request has become an event already, so that to do it again is a retry.
func Known(s *projections.State, r Request) bool {
	_, known := s.Accepted(events.ID(r.By.Source(), ProjectOf(s, r), r.Command.ID(), r.Key))
	return known
}

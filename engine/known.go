package engine

import (
	"strconv"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// Project returns the project that a request is about; "" for none.
func (r Request) Project(s *projections.State) string { return commands.ProjectOf(s, r.Command, r.By) }

// EventID returns the id of the event that a command of an actor becomes. From its second generation on, a named
// token has keys of its own: it is not answered what an earlier token of its name was.
func EventID(by commands.Actor, project, command, key string) uuid.UUID {
	return eventID(by.Source(), by, project, command, key)
}

// eventID is EventID where the actor's source is known.
func eventID(source string, by commands.Actor, project, command, key string) uuid.UUID {
	if by.Kind == commands.ActorUser && by.Generation > 1 {
		source += "#" + strconv.Itoa(by.Generation)
	}
	return events.ID(source, project, command, key)
}

// Known reports whether a request has become an event already, so that to do it again is a retry.
func (r Request) Known(s *projections.State) bool {
	_, known := s.Accepted(EventID(r.By, r.Project(s), r.Command.ID(), r.Key))
	return known
}

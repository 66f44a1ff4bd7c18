package engine

import (
	"strconv"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// Project returns the project that a request belongs to, or "" for none.
func (r Request) Project(s *projections.State) string { return commands.ProjectOf(s, r.Command, r.By) }

// EventID returns the id of the event that an actor's command becomes. Each generation of a named token after the first
// has keys of its own, so that it never gets the answers of an earlier token of the same name.
func EventID(by commands.Actor, project, command, key string) uuid.UUID {
	return eventID(by.Source(), by, project, command, key)
}

// eventID is EventID for callers that know the actor's source.
func eventID(source string, by commands.Actor, project, command, key string) uuid.UUID {
	if by.Kind == commands.ActorUser && by.Generation > 1 {
		source += "#" + strconv.Itoa(by.Generation)
	}
	return events.ID(source, project, command, key)
}

// Known reports whether the request has already become an event, so that executing it again is a retry.
func (r Request) Known(s *projections.State) bool {
	_, known := s.Accepted(EventID(r.By, r.Project(s), r.Command.ID(), r.Key))
	return known
}

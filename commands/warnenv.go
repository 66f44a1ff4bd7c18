package commands

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// notCopied warns that a session does not get the variables of the one that it is like: they may hold secrets.
func notCopied(s *projections.State, like, session string) []Warning {
	other := s.SessionEver(like)
	if other == nil {
		return nil
	}
	n := len(other.CommandEnv())
	if n == 0 {
		return nil
	}
	many := "the variable that a user gave session " + like + " is"
	if n > 1 {
		many = "the " + strconv.Itoa(n) + " variables that a user gave session " + like + " are"
	}
	return []Warning{{
		Text: many + " not copied",
		Next: []string{
			"`maestro session update " + session + " --env <name>=<value>`, run by a user, gives one to it",
		},
		Sessions: []string{like},
	}}
}

// Warnings implements Warner.
func (x *UpdateSession) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	updated, ok := data.(*events.SessionUpdated)
	if !ok || len(updated.Env) == 0 {
		return nil
	}
	session := s.Session(updated.SessionID)
	if session == nil {
		return nil
	}
	given := session.CommandEnv()
	var ours, others []string
	for _, name := range slices.Sorted(maps.Keys(updated.Env)) {
		switch _, set := given[name]; {
		case set:
		case strings.HasPrefix(name, projections.OwnVariables):
			ours = append(ours, safetext.Printable(name))
		default:
			others = append(others, safetext.Printable(name))
		}
	}
	if len(ours) > 0 {
		warnings = append(warnings, Warning{
			Text: "ignored by the session's commands: " + strings.Join(ours, ", ") +
				" (names that begin with " + projections.OwnVariables + " are reserved)",
		})
	}
	if len(others) > 0 {
		warnings = append(warnings, Warning{
			Text: "ignored by the session's commands, because only a user can set variables for them: " +
				strings.Join(others, ", "),
		})
	}
	return warnings
}

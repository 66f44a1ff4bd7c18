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
	if other == nil || len(other.UserEnv) == 0 {
		return nil
	}
	many := "the variable that a user gave session " + like + " is"
	if n := len(other.UserEnv); n > 1 {
		many = "the " + strconv.Itoa(n) + " variables that a user gave session " + like + " are"
	}
	return []Warning{{
		Text: many + " not copied",
		Next: []string{
			"`maestro session update " + session + " --env <name>=<value>` gives one to the new session",
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
			Text: "not set for the session's commands, because Maestro sets its own variables: " +
				strings.Join(ours, ", "),
		})
	}
	if len(others) > 0 {
		warnings = append(warnings, Warning{
			Text: "not set for the session's commands, because no user gave them: " + strings.Join(others, ", "),
		})
	}
	return warnings
}

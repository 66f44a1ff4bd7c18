package commands

import (
	"strings"
	"time"

	"maestro/projections"
)

// HowEnded says what ended a session, when and why, such as "the user killed it at 2026-11-22T18:00:00Z: wrong plan".
func HowEnded(x *projections.Session) string {
	at := " at " + time.UnixMilli(x.EndedAt).UTC().Format(time.RFC3339)
	reason := ""
	if x.EndReason != "" {
		reason = ": " + x.EndReason
	}
	switch by := x.GoneBy; by {
	case "/system":
		return "it ran out of time" + at
	case "":
	default:
		if _, runner := projections.RunnerOfSource(by); runner {
			return exited(x) + at
		}
		return ByWhom(by) + " killed it" + at + reason
	}
	return "it ended" + at + reason
}

// exited says how the agent of a session ended, before the time at which it did.
func exited(x *projections.Session) string {
	switch {
	case x.EndReason == "":
		return "it had said that its work is done, and its agent ended"
	case strings.HasPrefix(x.EndReason, "its agent ended"):
		return x.EndReason + ","
	}
	return "its agent ended (" + x.EndReason + ")"
}

// ByWhom names the source of an event in a sentence: the user, a user's token, or a session.
func ByWhom(source string) string {
	if _, session, ok := projections.SessionOfSource(source); ok {
		return "session '" + session + "'"
	}
	switch user, ok := projections.UserOfSource(source); {
	case user == AdminName:
		return "the user"
	case ok:
		return "user '" + user + "'"
	}
	if runner, ok := projections.RunnerOfSource(source); ok {
		return "runner '" + runner + "'"
	}
	return source
}

// HasEnded is the message to a session that acts after its end, and to who wants something of it.
func HasEnded(x *projections.Session) string {
	return "Session '" + x.ID + "' has ended: " + HowEnded(x)
}

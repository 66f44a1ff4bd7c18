package commands

import (
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
	by := x.GoneBy
	_, session, isSession := projections.SessionOfSource(by)
	switch {
	case by == "/system":
		return "its time was over" + at
	case by == "/users/"+AdminName:
		return "the user killed it" + at + reason
	case isSession:
		return "session '" + session + "' killed it" + at + reason
	case by != "":
		return by + " killed it" + at + reason
	}
	return "it ended" + at + reason
}

// HasEnded is the message to a session that acts after its end, and to who wants something of it.
func HasEnded(x *projections.Session) string {
	return "Session '" + x.ID + "' has ended: " + HowEnded(x)
}

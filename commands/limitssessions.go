package commands

import "maestro/events"

// Limits of what a session adds to the log after its end.
var (
	LimitLateReports = Limit{
		Name:   "late-reports",
		Value:  1000,
		Unit:   "reports",
		Code:   CodeLimit,
		Bounds: "reports that one session delivers after its end",
	}
	LimitLateBytes = Limit{
		Name:  "late-bytes",
		Value: 4 * events.MaxText,
		Unit:  "bytes",
		Code:  CodeLimit,
		Bounds: "what one session reports after its end: messages, task ids and options; a message longer than " +
			"`text` counts as that limit",
	}
)

// LimitOutput bounds what a runner says of an agent. It cuts what is longer.
var LimitOutput = Limit{
	Name:  "output",
	Value: 4 << 10,
	Unit:  "bytes",
	Code:  CodeInvalid,
	Bounds: "what a runner says of an agent: its last output, a command that was blocked and why, what is wrong " +
		"before a launch and how to repair it, what it does when it is stuck",
}

// Limits of the messages that wait for a session that runs no command. Senders do not use up each other's share, nor
// sessions that of the users.
var (
	LimitMail = Limit{
		Name:  "mail",
		Value: 100,
		Unit:  "messages",
		Code:  CodeLimit,
		Bounds: "messages that one session has not been shown yet, counted separately for those from sessions, those " +
			"from users, and answers to its questions; above it, only a user can answer a question",
	}
	LimitMailFromOne = Limit{
		Name:   "mail-from-one",
		Value:  10,
		Unit:   "messages",
		Code:   CodeLimit,
		Bounds: "messages from one session that the receiver has not been shown yet",
	}
	LimitMessage = Limit{
		Name:   "message",
		Value:  8 << 10,
		Unit:   "bytes",
		Code:   CodeLimit,
		Bounds: "the text of a message to a session: its agent reads all of it",
	}
)

package service

import (
	"time"

	"maestro/commands"
	"maestro/internal/safetext"
)

// Meta is what accompanies a command's fields.
type Meta struct {
	Key string
	// Named says that the caller gave the key.
	Named       bool
	OccurredAt  time.Time
	TraceParent string
	// Kept says that the command waited in an outbox, and the caller gave the time at which it was said.
	Kept bool
}

// CheckKept refuses a kept command of a kind that may not be kept.
func (m Meta) CheckKept(id string) error {
	if !m.Kept || commands.MayWait(id) {
		return nil
	}
	return &Problem{
		Kind:    KindInvalid,
		Code:    string(commands.CodeInvalid),
		Message: safetext.Printable(id) + " does not take Maestro-Occurred-At",
		Why: "only commands that may wait in an outbox carry the time at which they were said: " +
			"reports, tracked files, the end of a session",
		Next: "send it without Maestro-Occurred-At",
	}
}

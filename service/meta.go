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
	// Kept says that the caller told when it was said: it waited in an outbox.
	Kept bool
}

// CheckKept refuses a command that was kept and is none of those that may be.
func (m Meta) CheckKept(id string) error {
	if !m.Kept || commands.MayWait(id) {
		return nil
	}
	return &Problem{
		Kind:    KindInvalid,
		Code:    "VALIDATION_ERROR",
		Message: safetext.Printable(id) + " does not take Maestro-Occurred-At",
		Why: "only commands that may wait in an outbox carry the time at which they were said: " +
			"reports, tracked files, the end of a session",
		Next: "send it without Maestro-Occurred-At",
	}
}

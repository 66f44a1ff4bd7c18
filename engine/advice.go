package engine

import (
	"errors"

	"maestro/events"
)

// IsReadOnlyByRequest reports whether a log takes no writes because the operator started the server read-only.
func IsReadOnlyByRequest(err error) bool {
	var stopped *events.StoppedError
	return errors.As(err, &stopped) && stopped.Asked
}

// Advice says what an operator can do about a log that takes no writes.
func Advice(err error) string {
	var advised interface{ Advice() string }
	if errors.As(err, &advised) {
		return advised.Advice()
	}
	goesOn := "then the server recovers by itself"
	if errors.Is(err, events.ErrReadOnly) {
		goesOn = "then restart the server"
	}
	var denied interface{ Allow() string }
	if errors.As(err, &denied) { // the stored log is intact
		return denied.Allow() + "; " + goesOn
	}
	if errors.Is(err, events.ErrFull) {
		return "make room on the server's disk, then the server recovers by itself"
	}
	if !errors.Is(err, events.ErrReadOnly) { // no damage is known
		return "the server tries again every second and recovers by itself; until then look for the disk's errors in " +
			"its log and in the system's (`dmesg`)"
	}
	return nextSalvage
}

package offline

import (
	"strconv"
	"time"

	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
)

// moment is a position in the log, such as the end of a replay; the zero value is none.
type moment struct {
	sequence uint64
	time     time.Time
	// beginning says that it is before the first event.
	beginning bool
}

func parseMoment(flag, text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil && sequence > 0 {
		return moment{sequence: sequence}, nil
	}
	began, err := cli.Beginning(text)
	var at time.Time
	switch {
	case err != nil:
	case flag == "from":
		at, err = events.ParseFrom(began)
	default:
		at, err = time.Parse(time.RFC3339Nano, began)
	}
	if err != nil {
		return moment{}, failure.Usage("--%s %q is not a sequence above 0, a time or a duration", flag, text).
			WithNext("give one such as 42, 2026-02-02T10:00:00Z, 2026-02-02, 10m or 3d")
	}
	return moment{time: at}, nil
}

// before reports whether the moment is before an event.
func (m moment) before(sequence uint64, at time.Time) bool {
	return m.sequence > 0 && sequence > m.sequence || !m.time.IsZero() && at.After(m.time)
}

// isAfter reports whether the moment is after an event.
func (m moment) isAfter(sequence uint64, at time.Time) bool {
	return sequence < m.sequence || !m.time.IsZero() && at.Before(m.time)
}

// unreached reports whether the moment is still to come when a log ends with this event.
func (m moment) unreached(sequence uint64, now time.Time) bool {
	return m.sequence > sequence || m.time.After(now)
}

// isZero reports whether no moment was given.
func (m moment) isZero() bool { return m == moment{} }

// text is the moment as the server takes it.
func (m moment) text() string {
	if !m.time.IsZero() {
		return m.time.UTC().Format(time.RFC3339Nano)
	}
	return strconv.FormatUint(m.sequence, 10)
}

// justBefore is the moment before all events from this one on.
func (m moment) justBefore() moment {
	switch {
	case !m.time.IsZero():
		return moment{time: m.time.Add(-1)}
	case m.sequence > 1:
		return moment{sequence: m.sequence - 1}
	}
	return moment{beginning: true}
}

// isBefore reports whether both are sequences or both are times, and this one is before the other.
func (m moment) isBefore(other moment) bool {
	if !m.time.IsZero() && !other.time.IsZero() {
		return m.time.Before(other.time)
	}
	return m.time.IsZero() && other.time.IsZero() && m.sequence < other.sequence
}

// parseStart is parseMoment that takes 0 too, the moment before the first event.
func parseStart(flag, text string) (moment, error) {
	if text == "0" {
		return moment{beginning: true}, nil
	}
	return parseMoment(flag, text)
}

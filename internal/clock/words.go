package clock

import (
	"fmt"
	"time"
)

// Explain says what is wrong with the wall clock and what to do about it, or "" if nothing is.
func (s Status) Explain() (what, next string) {
	switch ahead := s.Ahead(); {
	case s.Jumped:
		what = fmt.Sprintf(
			"the wall clock shows %s, and by the time since this machine started it is %s: it moved by %s",
			stamp(s.Wall), stamp(s.Now), Span(s.Moved),
		)
		next = "events go on at the earlier pace; correct the machine's clock, or confirm it with " +
			"`maestro clock confirm`"
		return what, next
	case ahead > Tolerance:
		what = behind(s, ahead)
		next = "if the machine's clock is wrong, set it; if it is right, the log was written by a clock that was " +
			"ahead: new events go on from its last time, or restore a backup from before into a new home"
		return what, next
	case ahead > Notable:
		next = "nothing to do: new events go on from the log's last time until the wall clock has caught up"
		return behind(s, ahead), next
	}
	return "", ""
}

func behind(s Status, ahead time.Duration) string {
	return fmt.Sprintf("the wall clock shows %s, which is %s behind the newest event", stamp(s.Wall), Span(ahead))
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Span formats a duration in words of fitting size: "30.0 years", "-2h1m0s".
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch size := d.Abs(); {
	case size >= 365*day:
		return fmt.Sprintf("%.1f years", d.Hours()/24/365.25)
	case size >= 2*day:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	return d.Round(time.Second).String()
}

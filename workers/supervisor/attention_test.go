package supervisor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"maestro/events"
)

// TestAttention shows when an agent looks stuck, and when that is over.
func TestAttention(t *testing.T) {
	var now time.Time
	var told []string
	a := &attention{
		silent: 10 * time.Minute,
		now:    func() time.Time { return now },
		tell: func(kind events.StuckKind, detail string, since time.Time) {
			told = append(told, fmt.Sprintf("%s since %s: %s", kind, since.Format("15:04"), detail))
		},
	}
	at := func(minute int) { now = time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC) }
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		told = nil
	}
	at(0)
	a.look() // no agent runs
	expect()
	a.heardNow()
	at(9)
	a.look()
	expect()
	a.called("Bash", "make test")
	at(10)
	a.look()
	a.look()
	expect("silent since 12:00: nothing came from it since it called Bash: make test")
	at(11)
	a.heardNow()
	expect(" since 12:11: ")
	for minute := range loopsAt {
		at(20 + minute)
		a.heardNow()
		a.called("Bash", "ls")
	}
	expect("loop since 12:20: it made the same call 8 times in a row: Bash: ls")
	a.called("Bash", "ls")
	expect()
	a.called("Bash", "ls -l")
	expect(" since 12:27: ")
	at(40)
	a.look()
	expect("silent since 12:27: nothing came from it since it called Bash: ls -l")
	a.rest() // the exit says that it is not silent any more
	at(59)
	a.look()
	expect()
	a.heardNow() // another launch
	expect(" since 12:59: ")
	now = now.Add(time.Hour)
	a.look()
	expect("silent since 12:59: it has said and done nothing")
	a.lingers("its session is complete", now)
	expect("silent since 13:59: its session is complete")
	a.heardNow()
	a.look()
	expect()
}

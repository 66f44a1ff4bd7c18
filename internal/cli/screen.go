package cli

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/term"

	"maestro/events"
)

// Screen is the terminal on which a person reads the output.
type Screen struct {
	// Width is its number of columns.
	Width int
	// Height is its number of lines, 0 if it is unknown.
	Height int
	// Colour says that it supports colours, and that the person wants them.
	Colour bool
}

// unknownWidth is the width of a terminal that does not report one.
const unknownWidth = 80

// onScreen returns the terminal on stdout; nil if stdout is a file or a pipe.
func (a *Run) onScreen() *Screen {
	if a.Screen != nil || !a.terminal() {
		return a.Screen
	}
	a.Screen = &Screen{Width: unknownWidth, Colour: a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"}
	if f, ok := a.Stdout.(interface{ Fd() uintptr }); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			a.Screen.Width, a.Screen.Height = width, height
		}
	}
	return a.Screen
}

// terminal reports whether a person sees what is written to stdout.
func (p *Printer) terminal() bool { return p.Screen != nil || isTerminal(p.Stdout) }

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Instant formats milliseconds since 1970.
func Instant(ms events.Millis) string { return ms.Time().Format("2006-01-02T15:04:05.000Z") }

// HappenedAt formats the time of an event in a list of events: on a terminal in local time without milliseconds, and
// without the date if that is today's, so that the column is narrow; exactly elsewhere.
func (a *Run) HappenedAt(ms events.Millis) string {
	if a.onScreen() == nil {
		return Instant(ms)
	}
	now := a.Wall()
	at := ms.Time().In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// When formats milliseconds since 1970 as a relative time on a terminal, "5 min ago", and exactly elsewhere.
func (a *Run) When(ms events.Millis) string {
	at := ms.Time()
	if a.onScreen() == nil {
		return Instant(ms)
	}
	now := a.Wall()
	switch apart := at.Sub(now); {
	case apart > week || apart < -week:
		return at.In(now.Location()).Format("2006-01-02 15:04")
	case apart > time.Second:
		return "in " + spoken(apart)
	case apart > -time.Second:
		return "just now"
	default:
		return spoken(-apart) + " ago"
	}
}

// at is When with the preposition that it needs after a name: "at 2026-…", or "5 min ago" without one.
func (a *Run) at(ms events.Millis) string {
	if a.onScreen() == nil {
		return "at " + Instant(ms)
	}
	return a.When(ms)
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// spoken formats a duration with one unit.
func spoken(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.length {
			return fmt.Sprintf("%d %s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// Colours of a terminal.
const (
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	plain  = "\x1b[0m"
)

// statusColours are the colours of words in a column of statuses; the first that occurs in a cell applies. What needs a
// person is yellow, failures are red.
var statusColours = []struct{ word, colour string }{
	{"says completed", yellow},
	{"needs-input", yellow},
	{"needs_input", yellow},
	{"open", yellow},
	{"lost", red},
	{"failed", red},
	{"blocked", red},
	{"killed", red},
	{"timed", red},
	{"revoked", red},
	{"expired", red},
	{"completed", green},
	{"answered", green},
	{"in_progress", blue},
	{"working", blue},
	{"cancelled", dim},
	{"stopped", dim},
}

func statusColour(cell string) string {
	for _, x := range statusColours {
		if strings.Contains(cell, x.word) {
			return x.colour
		}
	}
	return ""
}

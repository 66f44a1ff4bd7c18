package cli

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"maestro/internal/safetext"
)

// Field prints a named value, if there is one.
func (p *Printer) Field(name, value string) {
	if value != "" {
		p.Print("  %-10s %s\n", name, safetext.OneLine(value))
	}
}

// Field is the Printer's, and wraps the value on a terminal.
func (a *Run) Field(name, value string) {
	switch {
	case value == "":
	case a.onScreen() == nil:
		a.Printer.Field(name, value)
	default:
		a.hanging(fmt.Sprintf("  %-10s ", name), value)
	}
}

// hanging prints a line whose end is somebody's text. On a terminal, the text continues below its own beginning: no
// part of it looks like a line of Maestro's own.
func (a *Run) hanging(prefix, text string) {
	a.hangingBelow(prefix, strings.Repeat(" ", max(displaywidth.String(prefix), len(blockIndent))), text)
}

// hangingBelow is hanging with what stands before each line but the first.
func (a *Run) hangingBelow(prefix, below, text string) {
	screen := a.onScreen()
	if screen == nil {
		a.Print("%s%s\n", prefix, safetext.OneLine(text))
		return
	}
	indent := max(displaywidth.String(prefix), displaywidth.String(below))
	lines := wrapped(safetext.Harmless(text), max(screen.Width-indent, wrapAtLeast), len(text)+1)
	if len(lines) == 0 {
		a.Print("%s\n", strings.TrimRight(prefix, " "))
	}
	for _, line := range lines {
		a.Print("%s%s\n", prefix, line)
		prefix = below
	}
}

// told joins who did something with what it was: in columns, or on a terminal, where the text wraps, with a colon.
func (a *Run) told(who, what string) string {
	if a.onScreen() == nil {
		return who + "  " + what
	}
	return who + ": " + what
}

// block prints a named text of several lines, if there is one.
func (a *Run) block(name, text string) {
	if text == "" {
		return
	}
	a.Print("  %s:\n", name)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if screen := a.onScreen(); screen != nil {
			line = strings.ReplaceAll(line, "\t", blockIndent) // a terminal would move it by an unknown width
			if displaywidth.String(line) > screen.Width-len(blockIndent) {
				a.hanging(blockIndent, line)
				continue
			}
		}
		a.Print("%s%s\n", blockIndent, line)
	}
}

// blockIndent stands before each line of a block.
const blockIndent = "    "

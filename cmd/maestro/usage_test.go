package main

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"maestro/internal/cli"
)

// The flags in the help of every command fit a terminal of 80 columns, or 120 columns if the terminal's width is
// unknown.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, screen := range []*cli.Screen{nil, {Width: 80}} {
		width := cli.UsageWidth
		if screen != nil {
			width = screen.Width
		}
		wrapped := 0
		eachCommand((&cli.Run{Printer: cli.Printer{Screen: screen}, More: more}).Root(), func(cmd *cobra.Command) {
			_, flags, _ := strings.Cut(cmd.UsageString(), "Flags:\n")
			for line := range strings.Lines(flags) {
				if !strings.HasPrefix(line, " ") { // cobra's own hint
					continue
				}
				if got := displaywidth.String(strings.TrimRight(line, "\n")); got > width {
					t.Errorf("`%s --help` has a line of %d columns, of at most %d:\n%s",
						cmd.CommandPath(), got, width, line)
				}
				if strings.HasPrefix(line, strings.Repeat(" ", 20)) {
					wrapped++
				}
			}
		})
		if wrapped == 0 {
			t.Errorf("no description is wrapped to %d columns", width)
		}
	}
}

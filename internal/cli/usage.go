package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// UsageWidth is the width of a help text, unless a terminal is narrower.
const UsageWidth = 120

// wrapUsage wraps the descriptions of flags to the terminal's width in the usage of all commands below root.
func (a *Run) wrapUsage(root *cobra.Command) {
	show := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text strings.Builder
		cmd.SetOut(&text)
		err := show(cmd)
		cmd.SetOut(nil) // the root's again
		if err != nil {
			return err
		}
		width := UsageWidth
		if screen := a.onScreen(); screen != nil {
			width = min(width, screen.Width)
		}
		usage := text.String()
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			whole, wrapped := trimmedLines(flags.FlagUsages()), trimmedLines(flags.FlagUsagesWrapped(width))
			usage = strings.Replace(usage, whole, alignFlags(wrapped), 1)
		}
		_, err = out.Write([]byte(usage))
		return err
	})
}

// wideSign is a sign of one column, which pflag counts in bytes.
const wideSign = "…"

// alignFlags moves the descriptions of flags whose syntax has such a sign below those of the others.
func alignFlags(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		flag := strings.TrimLeft(line, " ")
		syntax, description, found := strings.Cut(flag, "   ")
		if missing := strings.Count(syntax, wideSign) * (len(wideSign) - 1); found && missing > 0 {
			indent := line[:len(line)-len(flag)]
			lines[i] = indent + syntax + strings.Repeat(" ", missing) + "   " + description
		}
	}
	return strings.Join(lines, "\n")
}

// trimmedLines returns the flags' text for the usage, without white space at its end.
func trimmedLines(text string) string { return strings.TrimRight(text, " \n") }

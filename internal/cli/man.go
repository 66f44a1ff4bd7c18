package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan is `maestro man`.
func newMan(a *Run) *cobra.Command {
	return &cobra.Command{
		Use:   "man <dir>",
		Short: "Write the man pages of all commands into a directory",
		Args:  Takes,
		RunE: Running(func(_ context.Context, args []string) error {
			pages := manPages(a.Root())
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the directory of the man pages: %w", err)
			}
			for name, page := range pages {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(page), 0o644); err != nil {
					return fmt.Errorf("write a man page: %w", err)
				}
			}
			a.Result(struct {
				Dir   string `json:"dir"`
				Pages int    `json:"pages"`
			}{args[0], len(pages)}, func() { a.Print("Wrote %d man pages into %s\n", len(pages), args[0]) })
			return nil
		}),
	}
}

// manPages returns the page of each command that the help shows, by file name.
func manPages(cmd *cobra.Command) map[string]string {
	pages := map[string]string{manName(cmd) + ".1": manPage(cmd)}
	for _, sub := range manCommands(cmd) {
		for name, page := range manPages(sub) {
			pages[name] = page
		}
	}
	return pages
}

// manCommands are the commands below cmd that have a page.
func manCommands(cmd *cobra.Command) []*cobra.Command {
	var have []*cobra.Command
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			have = append(have, sub)
		}
	}
	return have
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a command's help in the macros of man(7). It has no date, so that the same binary writes the same
// page.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := roff(manName(cmd))
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"maestro %s\" \"Maestro\"\n", strings.ToUpper(name), roff(Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, ".PP\nOther names: %s\n", roff(strings.Join(cmd.Aliases, ", ")))
	}
	if cmd.Long != "" {
		asWritten(&b, "DESCRIPTION", cmd.Long)
	}
	manFlags(&b, "OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		manFlags(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	} else {
		manFlags(&b, "OPTIONS OF EVERY COMMAND", cmd.PersistentFlags())
	}
	if cmd.Example != "" {
		asWritten(&b, "EXAMPLES", cmd.Example)
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent()))
	}
	for _, sub := range manCommands(cmd) {
		also = append(also, manName(sub))
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, page := range also {
		end := ","
		if i == len(also)-1 {
			end = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(page), end)
	}
	return b.String()
}

// asWritten adds a section whose text is already formatted for a terminal.
func asWritten(b *strings.Builder, section, text string) {
	fmt.Fprintf(b, ".SH %s\n.nf\n%s\n.fi\n", section, roff(strings.Trim(text, "\n")))
}

func manFlags(b *strings.Builder, section string, flags *pflag.FlagSet) {
	var entries strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(&entries, ".TP\n.B %s\n%s\n", roff(name), roff(usage))
	})
	if entries.Len() > 0 {
		fmt.Fprintf(b, ".SH %s\n%s", section, entries.String())
	}
}

// glyphs are the characters that a formatter would interpret.
var glyphs = map[rune]string{
	'\\': `\e`,
	'-':  `\-`,
	'"':  `\(dq`,
	'\'': `\(aq`,
	'`':  `\(ga`,
	'~':  `\(ti`,
	'^':  `\(ha`,
}

// roff escapes text so that the formatter interprets none of it: no escape, and no macro at the start of a line. The
// page shows the characters unchanged, so that its command lines can be copied.
func roff(text string) string {
	var b strings.Builder
	start := true
	for _, r := range text {
		switch glyph := glyphs[r]; {
		case glyph != "":
			b.WriteString(glyph)
		case r == '.' && start:
			b.WriteString(`\&.`)
		case r >= utf8.RuneSelf:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
		start = r == '\n'
	}
	return b.String()
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"maestro/internal/safetext"
)

// Printer answers: in words, or as JSON.
type Printer struct {
	// Stdout and Stderr are where it answers.
	Stdout, Stderr io.Writer
	// JSON is --json; format is -o, of commands that list.
	JSON   bool
	format string
	// output is what the configuration says for -o.
	output string
	// fieldNames are the annotations of the command that ran: what of its line sets which field.
	fieldNames map[string]string
	// session says that a session runs the command.
	session bool
	// answered says that the JSON document of the run is written. There is one, also when the run fails after it.
	answered bool
	// broken is the first error of a write to stdout.
	broken error
}

// Print writes text for people to stdout. What others wrote cannot act on the terminal.
func (p *Printer) Print(format string, args ...any) {
	p.write([]byte(safetext.Harmless(fmt.Sprintf(format, args...))))
}

// Say writes text for people to stderr.
func (p *Printer) Say(format string, args ...any) {
	_, _ = io.WriteString(
		p.Stderr,
		safetext.Harmless(fmt.Sprintf(format, args...)),
	) // there is nowhere left to complain
}

// write writes text that nobody else wrote, or that was made harmless.
func (p *Printer) write(b []byte) {
	if _, err := p.Stdout.Write(b); err != nil && p.broken == nil {
		p.broken = fmt.Errorf("write to stdout: %w", err)
	}
}

// raw writes what others wrote as it is, for who redirects it into a file; to a terminal it is made harmless.
func (p *Printer) raw(text []byte) {
	if p.terminal() {
		text = []byte(safetext.Harmless(string(text)))
	}
	p.write(text)
}

// terminal reports whether a person sees what is written to stdout.
func (p *Printer) terminal() bool {
	f, ok := p.Stdout.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// warnOfSecret says on stderr that what follows on a terminal is a secret, and what to do instead.
func (p *Printer) warnOfSecret(next string) {
	if p.terminal() {
		p.Say("maestro: this shows a secret on a terminal; %s\n", next)
	}
}

// Result answers a command: data if JSON was asked for, else what text prints.
func (p *Printer) Result(data any, text func()) {
	if !p.JSON {
		text()
		return
	}
	p.WriteJSON(struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, data})
}

// WriteJSON writes a value as one line.
func (p *Printer) WriteJSON(value any) {
	p.answered = p.format != "jsonl"
	p.write(append(p.encode(value), '\n'))
}

func (p *Printer) encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		if p.broken == nil {
			p.broken = fmt.Errorf("write as JSON: %w", err)
		}
		return nil
	}
	return safetext.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// ListFlags gives a command that lists its -o.
func (p *Printer) ListFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.format, "output", "o", "", "table, json, or jsonl: an object a line")
	Complete(cmd, "output", "table", "json", "jsonl")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if p.format == "" && !p.JSON {
			p.format = p.output
		}
		switch p.format {
		case "", "json", "jsonl":
			p.JSON = p.JSON || p.format != ""
			return nil
		case "table", "text":
			p.JSON = false
			return nil
		}
		return fmt.Errorf("-o %q is unknown; it is table, json or jsonl", p.format)
	}
}

// Complete lets the shell offer the words that a flag takes.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	fixed := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed); err != nil {
		panic(err) // the flag is not there: a mistake in the program
	}
}

// choices is the annotation of a flag that takes certain words only; checkFlags looks at it.
const choices = "choices"

// choice is complete for a flag that takes only these words: with another one a list would be empty, and say nothing.
func choice(cmd *cobra.Command, flag string, words ...string) {
	Complete(cmd, flag, words...)
	annotate(cmd, flag, choices, words...)
	ValueName(cmd, flag, strings.Join(words, "|"))
}

// List answers a command that lists: as JSON, as lines of JSON, or as a table with a line for each item.
func List[T any](a *Run, items []T, none string, row func(T) []string) {
	listed(a, items, none, row, a.table)
}

// listFitted is list for items with a text in the last column, of which no more is shown than fits the line.
func listFitted[T any](a *Run, items []T, none string, row func(T) []string) {
	listed(a, items, none, row, func(rows [][]string) { a.table(fitted(rows)) })
}

func listed[T any](a *Run, items []T, none string, row func(T) []string, show func(rows [][]string)) {
	if a.format == "jsonl" {
		for _, item := range items {
			a.WriteJSON(item)
		}
		return
	}
	if items == nil {
		items = []T{}
	}
	a.Result(items, func() {
		if len(items) == 0 {
			a.Say("%s\n", none)
			return
		}
		rows := make([][]string, len(items))
		for i, item := range items {
			rows[i] = row(item)
		}
		show(rows)
	})
}

const (
	// lineWidth is how wide a table may be: a terminal that nobody has widened, and some more.
	lineWidth = 100
	// lastAtLeast is what the last cell of a row gets of it, however wide the others are.
	lastAtLeast = 12
)

// fitted shortens the last cells of rows so that each row fits a line.
func fitted(rows [][]string) [][]string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:max(0, len(row)-1)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+2)
		}
	}
	for _, row := range rows {
		left := lineWidth
		for _, width := range widths[:max(0, len(row)-1)] {
			left -= width
		}
		if last := len(row) - 1; last >= 0 {
			row[last] = safetext.Clip(row[last], max(left, lastAtLeast))
		}
	}
	return rows
}

// table prints rows in columns.
func (p *Printer) table(rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = safetext.OneLine(cell)
		}
		_, _ = io.WriteString(w, strings.Join(row, "\t")+"\n") // a Builder takes everything
	}
	_ = w.Flush()
	for line := range strings.Lines(b.String()) {
		p.Print("%s\n", strings.TrimRight(line, " \n"))
	}
}

// wrapped breaks a text between words into lines of a width; the last of so many lines is cut. No text is no line.
func wrapped(text string, width, lines int) []string {
	var out []string
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		longer := strings.TrimSpace(line + " " + word)
		switch {
		case len(out) == lines-1:
			return append(out, safetext.Clip(strings.TrimSpace(line+" "+strings.Join(words[i:], " ")), width))
		case line != "" && utf8.RuneCountInString(longer) > width:
			out = append(out, line)
			line = word
		default:
			line = longer
		}
	}
	if line == "" {
		return out
	}
	return append(out, safetext.Clip(line, width))
}

// Instant shows milliseconds since 1970.
func Instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Many writes "1 task", "2 tasks".
func Many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

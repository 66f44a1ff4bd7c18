package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"maestro/internal/safetext"
)

// Printer answers: in words, or as JSON.
type Printer struct {
	// Stdout and Stderr are where it answers.
	Stdout, Stderr io.Writer
	// Screen is the terminal that stdout is, once it was looked for.
	Screen *Screen
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
func List[T any](a *Run, items []T, none string, columns []string, row func(T) []string) {
	listed(a, items, none, row, func(rows [][]string) { a.table(columns, rows) })
}

// listFitted is List for items with a text in the last column, of which no more is shown than fits a line, also where
// no terminal says how long that is.
func listFitted[T any](a *Run, items []T, none string, columns []string, row func(T) []string) {
	listed(a, items, none, row, func(rows [][]string) { a.fitted(columns, rows) })
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

// Many writes "1 task", "2 tasks".
func Many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

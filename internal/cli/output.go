package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// Printer answers: in words, or as JSON.
type Printer struct {
	// Stdout and Stderr are where it answers.
	Stdout, Stderr io.Writer
	// Screen is the terminal that stdout is, once it was looked for.
	Screen *Screen
	// JSON is --json; format is -o.
	JSON   bool
	format string
	// output is the configured value of -o.
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

// harmlessWriter is where cobra writes what it makes itself: help, and what the shell is offered, with titles of tasks.
type harmlessWriter struct{ io.Writer }

func (w harmlessWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, safetext.Harmless(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// warnOfSecret warns on stderr that the output on a terminal is a secret, and says what to do instead.
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
	return safetext.EscapeJSON(withTimes(bytes.TrimSuffix(b.Bytes(), []byte("\n")), value))
}

// lists is the annotation of a command that lists; inProject that of one that acts in the current project and has no
// --project; oldFile that of one whose --output was the name of a file.
const (
	lists     = "lists"
	inProject = "in the current project"
	oldFile   = "old-file"
)

// ListFlags marks a command that lists: the output format of config.json applies to it.
func (p *Printer) ListFlags(cmd *cobra.Command) { annotated(cmd, lists, "true") }

// outputFlags adds --json and -o to all commands.
func (p *Printer) outputFlags(root *cobra.Command) {
	root.PersistentFlags().BoolVar(&p.JSON, "json", p.JSON, "answer as JSON")
	root.PersistentFlags().StringVarP(&p.format, "output", "o", "", "table, json, or jsonl: an object a line")
	words := cobra.FixedCompletions([]string{"table", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)
	if err := root.RegisterFlagCompletionFunc("output", words); err != nil {
		panic(err) // the flag is declared a line above
	}
}

// setOutput reads -o. A list that is not told takes what the configuration says.
func (p *Printer) setOutput(cmd *cobra.Command) error {
	if p.format == "" && !p.JSON && cmd.Annotations[lists] != "" {
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
	refused := failure.Usage("-o %q is unknown", p.format)
	if cmd.Flags().Lookup("file") != nil {
		return &ranError{refused.WithNext("it is table, json or jsonl; --file names a file")}
	}
	return &ranError{refused.WithNext("it is table, json or jsonl")}
}

// takeFile lets --output name a file, where it is not a form of the answer (docs/spec/003-manifest-schema.md,
// "Programmatically").
func (p *Printer) takeFile(cmd *cobra.Command) error {
	switch p.format {
	case "", "json", "jsonl", "table", "text":
		return nil
	}
	if cmd.Annotations[oldFile] == "" {
		return nil
	}
	if cmd.Flags().Changed("file") {
		return &ranError{failure.Usage("--file and --output FILE exclude each other").WithNext("leave --output out")}
	}
	file := p.format
	p.format = ""
	return cmd.Flags().Set("file", file)
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

// longestChoice is how long the words of a flag may be to stand beside its name in the help.
const longestChoice = 60

// choice is complete for a flag that takes only these words: with another one a list would be empty, and say nothing.
func choice(cmd *cobra.Command, flag string, words ...string) {
	Complete(cmd, flag, words...)
	annotate(cmd, flag, choices, words...)
	if all := strings.Join(words, "|"); len(all) <= longestChoice {
		ValueName(cmd, flag, all)
		return
	}
	ValueName(cmd, flag, "word")
	cmd.Flags().Lookup(flag).Usage += ": " + strings.Join(words, ", ")
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

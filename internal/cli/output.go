package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// Printer prints results: as text, or as JSON.
type Printer struct {
	// Stdout and Stderr are its outputs.
	Stdout, Stderr io.Writer
	// Screen is the terminal on stdout, once determined.
	Screen *Screen
	// JSON is --json; format is -o.
	JSON   bool
	format string
	// quiet is --quiet of a list: only the ids are printed.
	quiet bool
	// output is the configured value of -o.
	output string
	// fieldNames are the annotations of the running command: what on its line sets which field.
	fieldNames map[string]string
	// nextFor adapts the next step of an error to whoever runs the command; nil leaves it.
	nextFor func(next string) string
	// answered says that the JSON document of the run is written. There is only one, even if the run fails afterwards.
	answered bool
	// broken is the first error of a write to stdout.
	broken error
}

// Print writes text for people to stdout. It escapes foreign text, so that none controls the terminal.
func (p *Printer) Print(format string, args ...any) {
	p.write([]byte(safetext.Harmless(fmt.Sprintf(format, args...))))
}

// Say writes text for people to stderr.
func (p *Printer) Say(format string, args ...any) {
	_, _ = io.WriteString(
		p.Stderr,
		safetext.Harmless(fmt.Sprintf(format, args...)),
	) // there is nowhere left to report it
}

// write writes trusted or escaped text.
func (p *Printer) write(b []byte) {
	if _, err := p.Stdout.Write(b); err != nil && p.broken == nil {
		p.broken = writeFailed(err)
	}
}

func writeFailed(err error) error { return fmt.Errorf("write to stdout: %w", err) }

// raw writes foreign text unchanged, for redirection into a file; on a terminal it is escaped.
func (p *Printer) raw(text []byte) {
	if p.terminal() {
		text = []byte(safetext.Harmless(string(text)))
	}
	p.write(text)
}

// harmlessWriter escapes what cobra itself writes: help, and completions, which include titles of tasks.
// broken is the first error.
type harmlessWriter struct {
	io.Writer
	broken *error
}

func (w harmlessWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, safetext.Harmless(string(text))); err != nil {
		if *w.broken == nil {
			*w.broken = writeFailed(err)
		}
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

// Result prints a command's result: data if JSON is requested, otherwise what text prints.
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

// lists is the annotation of a command that lists; inProject that of a command in the current project without
// --project; oldFile that of a command whose --output used to be a file name.
const (
	lists     = "lists"
	inProject = "in the current project"
	oldFile   = "old-file"
)

// ListFlags marks a command that lists: the output format of config.json applies to it, and --quiet prints only the
// first cells of its rows, which hold the ids of its items.
func (p *Printer) ListFlags(cmd *cobra.Command) {
	annotated(cmd, lists, "true")
	cmd.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "print the ids only")
}

// Quiet reports whether a list prints only ids.
func (p *Printer) Quiet() bool { return p.quiet }

// outputFlags adds --json and -o to all commands.
func (p *Printer) outputFlags(root *cobra.Command) {
	root.PersistentFlags().BoolVar(&p.JSON, "json", p.JSON, "answer as JSON")
	root.PersistentFlags().StringVarP(&p.format, "output", "o", "", "table, json or jsonl (one object per line)")
	words := cobra.FixedCompletions([]string{"table", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)
	if err := root.RegisterFlagCompletionFunc("output", words); err != nil {
		panic(err) // the flag is declared a line above
	}
}

// setOutput parses -o. A list without it uses the configured format.
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

// takeFile makes --output name a file if it is not an output format (docs/spec/003-manifest-schema.md,
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
		return &ranError{failure.Usage("--file and --output FILE cannot be used together").
			WithNext("leave --output out")}
	}
	file := p.format
	p.format = ""
	return cmd.Flags().Set("file", file)
}

// Complete makes the shell offer the values that a flag accepts.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	fixed := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed); err != nil {
		panic(err) // the flag does not exist: a bug in the program
	}
}

// choices is the annotation of a flag that accepts only certain values; CheckFlags checks it.
const choices = "choices"

// longestChoice bounds the values of a flag that are shown beside its name in the help.
const longestChoice = 60

// choice is Complete for a flag that accepts only these values: with another one a list would silently be empty.
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

// List prints the result of a command that lists: as JSON, as lines of JSON, or as a table with a line for each item.
func List[T any](a *Run, items []T, none string, columns []string, row func(T) []string) {
	listed(a, items, none, row, func(rows [][]string) { a.table(columns, rows) })
}

// listFitted is List for items with a text in the last column, which is cut to fit a line even without a terminal.
func listFitted[T any](a *Run, items []T, none string, columns []string, row func(T) []string) {
	listed(a, items, none, row, func(rows [][]string) { a.fitted(columns, rows) })
}

// several reports whether items belong to more than one project.
func several[T any](items []T, project func(T) string) bool {
	return slices.ContainsFunc(items, func(item T) bool { return project(item) != project(items[0]) })
}

// byProject adds the column PROJECT, the second, to a table whose items belong to several projects.
func byProject[T any](
	items []T, project func(T) string, columns []string, row func(T) []string,
) ([]string, func(T) []string) {
	if !several(items, project) {
		return columns, row
	}
	return slices.Insert(slices.Clone(columns), 1, "PROJECT"), func(item T) []string {
		return slices.Insert(row(item), 1, project(item))
	}
}

func listed[T any](a *Run, items []T, none string, row func(T) []string, show func(rows [][]string)) {
	answerList(a, items, func(item T) string { return row(item)[0] }, func() {
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

// answerList answers with a list: as JSON, as lines of JSON, as ids, which may be several for an item, or as what text
// prints.
func answerList[T any](a *Run, items []T, id func(T) string, text func()) {
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
		if !a.quiet {
			text()
			return
		}
		for _, item := range items {
			a.Print("%s\n", id(item))
		}
	})
}

// Many writes "1 task", "2 tasks".
func Many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/commands"
	"maestro/internal/safetext"
)

// The annotations of a command line: the command id that it stands for, the flags that prompts show, that prompts omit
// it, the command ids that it needs, who alone may run it, and what else is told to those who may use another id.
const (
	neededIDs    = "needs"
	commandID    = "command-id"
	toldFlags    = "told-flags"
	notInPrompts = "not-in-prompts"
	onlyFor      = "only-for"
	alsoTold     = "also-told"
	alsoToldTo   = "also-told-to"
)

// The values of onlyFor.
const (
	onlySessions = "sessions"
	onlyUsers    = "users"
)

// ownOnly, in place of a flag, makes prompts omit the optional arguments: for an agent they default to its own.
const ownOnly = "-"

// Tell records which command id a command line runs, and which of its flags prompts show to agents, in this order. Two
// flags in one word belong together; one that ends in ! is required. workers/prompt/syntax_gen.go is generated from it.
func Tell(cmd *cobra.Command, id string, flags ...string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[commandID], cmd.Annotations[toldFlags] = id, strings.Join(flags, ",")
	return cmd
}

// AlsoTell adds words to the description of a command line for agents that may use another command id too.
func AlsoTell(cmd *cobra.Command, id, words string) *cobra.Command {
	annotated(cmd, alsoToldTo, id)
	annotated(cmd, alsoTold, words)
	return cmd
}

// Untold omits a command line from prompts and from the lists of sessions: it is for people at a terminal, or for
// programs.
func Untold(cmd *cobra.Command) *cobra.Command {
	annotated(cmd, notInPrompts, "true")
	return cmd
}

// ValueName returns the placeholder for a flag's value, such as <taskId>.
func ValueName(cmd *cobra.Command, flag, name string) {
	f := cmd.Flags().Lookup(flag)
	if list, ok := f.Value.(pflag.SliceValue); ok {
		f.Value = struct {
			namedValue
			pflag.SliceValue
		}{namedValue{f.Value, name}, list}
		return
	}
	f.Value = namedValue{f.Value, name}
}

// namedValue is the value of a flag with its own placeholder.
type namedValue struct {
	pflag.Value
	name string
}

// Type implements pflag.Value.
func (v namedValue) Type() string { return v.name }

// placeholder is an argument of a command line: its name, and its form in Use.
type placeholder struct {
	name, written string
	optional      bool
	// text says that it is free text, which is shown in quotes; any other argument names something, and is never empty.
	text bool
	// many says that it may be repeated: the last argument, with an ellipsis.
	many bool
}

// placeholders parses the arguments of a Use line: <taskId>, "<message>", and [...] around optional ones.
func placeholders(use string) []placeholder {
	var found []placeholder
	for _, word := range strings.Fields(use)[1:] {
		word, many := strings.CutSuffix(word, "…")
		bare := strings.Trim(word, "[]")
		found = append(found, placeholder{
			name:     strings.Trim(bare, `"<>`),
			written:  bare,
			optional: strings.HasPrefix(word, "["),
			text:     strings.HasPrefix(bare, `"`),
			many:     many,
		})
	}
	return found
}

// Usage is the syntax of a command line, without the name of the program, and its description.
type Usage struct {
	// ID is the command id of the line or, if it has none of its own, its words with colons.
	ID, Syntax, Description string
	// Needs are the command ids that the line needs, if it has none of its own.
	Needs []string
	// For is "sessions" or "users" if only they may run it.
	For string
	// Also is what else those are told who may use AlsoTo.
	Also, AlsoTo string
	// InPrompts says that agents are told of it, in their prompts and lists.
	InPrompts bool
}

// Usages returns the usage of every command line that needs a permission, in the order of the permission table; those
// without an id of their own come after those of their noun.
func Usages(root *cobra.Command) []Usage {
	var usages []Usage
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if needed := cmd.Annotations[neededIDs]; needed != "" {
			u := Usage{
				ID:          lineID(cmd),
				Syntax:      syntaxOf(cmd),
				Description: cmd.Short,
				For:         cmd.Annotations[onlyFor],
				Also:        cmd.Annotations[alsoTold],
				AlsoTo:      cmd.Annotations[alsoToldTo],
				InPrompts:   cmd.Annotations[notInPrompts] == "",
			}
			if needed != u.ID {
				u.Needs = strings.Split(needed, ",")
			}
			usages = append(usages, u)
		}
		for _, verb := range cmd.Commands() {
			visit(verb)
		}
	}
	visit(root)
	rows := commands.CurrentRules().Rows()
	place := func(u Usage) int {
		noun, _, _ := strings.Cut(u.ID, ":")
		last := len(rows)
		for i, row := range rows {
			if row.ID == u.ID {
				return i
			}
			if of, _, _ := strings.Cut(row.ID, ":"); of == noun {
				last = i
			}
		}
		return last
	}
	slices.SortStableFunc(usages, func(a, b Usage) int {
		return cmp.Or(place(a)-place(b), min(len(a.Needs), 1)-min(len(b.Needs), 1))
	})
	return usages
}

// lineID returns the words of a command line as an id.
func lineID(cmd *cobra.Command) string {
	return strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "maestro "), " ", ":")
}

// syntaxOf returns a command line with its arguments and the flags that agents see.
func syntaxOf(cmd *cobra.Command) string {
	parts := []string{strings.TrimPrefix(cmd.CommandPath(), "maestro ")}
	told := strings.Split(cmd.Annotations[toldFlags], ",")
	for _, p := range placeholders(cmd.Use) {
		switch {
		case !p.optional && p.many:
			parts = append(parts, p.written+"…")
		case !p.optional:
			parts = append(parts, p.written)
		case !slices.Contains(told, ownOnly):
			parts = append(parts, "["+p.written+"]")
		}
	}
	for _, group := range told {
		if group == "" || group == ownOnly {
			continue
		}
		group, required := strings.CutSuffix(group, "!")
		var flags []string
		for name := range strings.FieldsSeq(group) {
			flags = append(flags, flagSyntax(cmd, name))
		}
		written, repeated := strings.CutSuffix(strings.Join(flags, " "), "…")
		if !required {
			written = "[" + written + "]"
		}
		if repeated {
			written += "…"
		}
		parts = append(parts, written)
	}
	return strings.Join(parts, " ")
}

// flagSyntax returns a flag with the placeholder of its value.
func flagSyntax(cmd *cobra.Command, name string) string {
	flag := cmd.Flags().Lookup(name)
	if flag == nil {
		panic("`" + cmd.CommandPath() + "` has no flag --" + name + " to tell of")
	}
	value := flag.Value.Type()
	if words := flag.Annotations[choices]; len(words) > 0 { // the help may list them beside the description
		value = strings.Join(words, "|")
	}
	switch value {
	case "bool":
		return "--" + name
	case "int":
		value = "<number>"
	case "duration":
		value = "<duration>"
	case "string", "stringSlice", "stringArray", "stringToString":
		panic("`" + cmd.CommandPath() + " --" + safetext.Quoted(name) + "` does not say what its value is called")
	}
	return "--" + name + " " + value
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// A flag that sets a field of a command is declared by the field itself:
//
//	Dependencies []string `json:"dependencies,omitempty" flag:"depends-on <taskIds>" doc:"tasks to complete first"`
//
// Its name is that of the json tag in kebab-case, unless the flag tag gives another one; the rest of the flag tag is
// what a value is called; the doc tag is its description. An argument of the command line sets the field that its
// placeholder in Use names, by the json tag or by a word of the arg tag.

// notOffered are the fields of commands without a flag, with the reason: by name for all commands, or for one.
var notOffered = map[string]string{
	"project":        "a command acts in the project of its target; the others declare --project by hand",
	"manifestDigest": "--manifest names a file, whose digest this is",
	"content":        "a file holds it",

	"report:progress.options": "only a question has options",
	"report:blocked.options":  "only a question has options",
	"report:error.options":    "only a question has options",
	"report:complete.options": "only a question has options",

	"task:update.agentIds": "the sessions of a task say who works on it",

	"session:register.create":   "only `init --manifest` insists on a new session",
	"session:register.status":   "older clients register sessions that are at work already",
	"session:register.env":      "older clients store it",
	"session:register.metadata": "older clients store it",
	"session:register.agentId":  "older clients store it",
	"session:spawn.context":     "a manifest says it",
	"session:spawn.spawnedBy":   "a session spawns for itself",

	"queue:start.queue":    "only a session holds an item, and it has one queue",
	"queue:complete.queue": "only a session holds an item, and it has one queue",
	"queue:fail.queue":     "only a session holds an item, and it has one queue",

	"worker:init.sessionId":       "a session starts itself",
	"orchestrator:init.sessionId": "a session starts itself",

	"token:create.expiresIn": "--expires says it",
	"token:create.expiresAt": "--expires says it",
}

// words are the possible values of some fields, for the shell to offer; for the others a flag tag lists them.
var words = map[string][]string{
	"agent": {"claude", "codex", "gemini"},
	"model": {"sonnet", "opus", "haiku"},
	"strategy": {
		string(events.StrategySimple), string(events.StrategyQueue), string(events.StrategyTree),
		string(events.StrategyDefault), string(events.StrategyBatching), string(events.StrategyDAG),
	},
}

// longTexts are the fields whose text may come from stdin, for the value "-".
var longTexts = map[string]bool{
	"description":   true,
	"initialPrompt": true,
	"message":       true,
	"text":          true,
	"answer":        true,
	"reason":        true,
}

// usersWords are values that a field accepts from a user in addition to those that its flag tag shows to agents.
var usersWords = map[string][]string{
	"todo|in_progress|completed|blocked": {string(events.TaskCancelled)},
}

// inMilliseconds ends the description of a field that holds a duration. Its flag takes a Go duration.
const inMilliseconds = ", in milliseconds"

// fields links the fields of a command to the flags and arguments that set them.
type fields struct {
	cmd *cobra.Command
	// flags are the names of the flags.
	flags []string
	// arguments are the fields that the arguments set, in order; nil for an argument without a field of its name.
	arguments []*field
	// texts are the fields that stdin may set.
	texts []*field
}

// field is a field of a command, as described by its tags.
type field struct {
	value reflect.Value
	// name is the name in JSON, flag the name of its flag, takes the placeholder of its value, such as <taskId> or
	// low|high.
	name, flag, takes, doc string
	// tagged says that it has a flag tag.
	tagged bool
}

// bind declares a flag for each field of a command that is not an argument.
func bind(cmd *cobra.Command, body any) *fields { return bindAs(cmd, body, body) }

// bindAs is bind for a struct whose fields are described by the fields of the same names in another one.
func bindAs(cmd *cobra.Command, body, as any) *fields {
	f := &fields{cmd: cmd}
	described := map[string]reflect.StructField{}
	for _, of := range reflect.VisibleFields(reflect.TypeOf(as).Elem()) {
		described[jsonName(of)] = of
	}
	places := placeholders(cmd.Use)
	f.arguments = make([]*field, len(places))
	v := reflect.ValueOf(body).Elem()
	for _, of := range reflect.VisibleFields(v.Type()) {
		name := jsonName(of)
		if name == "" {
			continue
		}
		x := fieldOf(name, described[name].Tag)
		x.value = v.FieldByIndex(of.Index)
		if longTexts[name] {
			f.texts = append(f.texts, &x)
		}
		at := slices.IndexFunc(places, func(p placeholder) bool {
			return p.name == name || slices.Contains(strings.Split(described[name].Tag.Get("arg"), "|"), p.name)
		})
		if at >= 0 {
			f.arguments[at] = &x
			note(cmd, name, places[at].written)
			if !places[at].optional || !x.tagged {
				continue
			}
		}
		if notOffered[name] == "" && notOffered[idOf(as)+"."+name] == "" {
			x.declare(cmd)
			f.flags = append(f.flags, x.flag)
			if at < 0 {
				note(cmd, name, "--"+x.flag)
			}
		}
	}
	return f
}

// fieldNote is the prefix of a command's annotations that record what sets a field.
const fieldNote = "field "

// note records what on a command line sets a field, for explaining refusals.
func note(cmd *cobra.Command, field, written string) {
	annotated(cmd, fieldNote+field, written)
}

func annotated(cmd *cobra.Command, annotation, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[annotation] = value
}

// idOf returns the id of a command; "" for anything else.
func idOf(body any) string {
	if command, ok := body.(commands.Command); ok {
		return command.ID()
	}
	return ""
}

// jsonName returns the name of a field in JSON; "" if it is not included.
func jsonName(of reflect.StructField) string {
	name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
	if of.Anonymous || name == "-" {
		return ""
	}
	return name
}

// fieldOf parses the tags of a field.
func fieldOf(name string, tag reflect.StructTag) field {
	x := field{name: name, flag: kebab(name), doc: tag.Get("doc")}
	var said string
	said, x.tagged = tag.Lookup("flag")
	first, rest, _ := strings.Cut(said, " ")
	switch {
	case strings.ContainsAny(first, `<|"`):
		x.takes = said
	case first != "":
		x.flag, x.takes = first, rest
	}
	return x
}

// kebab converts a JSON name to a flag's: taskIds becomes task-ids.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// declare adds a field's flag to a command.
func (x *field) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	switch at := x.value.Addr().Interface().(type) {
	case *bool:
		flags.BoolVar(at, x.flag, *at, x.doc)
	case *int:
		flags.IntVar(at, x.flag, *at, x.doc)
	case *map[string]string:
		flags.Var(variables{at}, x.flag, x.doc)
	case *int64:
		what, found := strings.CutSuffix(x.doc, inMilliseconds)
		if !found {
			panic(x.name + " is a number, and its description does not end in " + inMilliseconds)
		}
		flags.Var((*milliseconds)(at), x.flag, what+", such as 30m")
	default:
		value, doc := x.settable(), x.doc
		if longTexts[x.name] {
			doc += "; - reads it from stdin"
		}
		flags.Var(value, x.flag, doc+value.more())
	}
	offered := words[x.name]
	if takes := x.valueName(); strings.Contains(takes, "|") {
		offered = append(strings.Split(takes, "|"), usersWords[takes]...)
	}
	if len(offered) > 0 {
		Complete(cmd, x.flag, offered...)
	}
}

// valueName returns the placeholder for a value of the field, or its possible values.
func (x *field) valueName() string {
	switch x.value.Interface().(type) {
	case json.RawMessage:
		return aJSONObject
	case events.Role:
		return string(events.RoleWorker) + "|" + string(events.RoleOrchestrator)
	case events.TokenKind:
		return string(events.TokenAdmin) + "|" + string(events.TokenAuditor) + "|" + string(events.TokenReadOnly)
	}
	if x.takes == "" {
		return "<" + x.name + ">"
	}
	return x.takes
}

// set stores the arguments of a command line in their fields.
func (f *fields) set(args []string) error {
	for i, arg := range args {
		x := f.arguments[i]
		if x == nil || x.tagged && slices.Contains(f.flags, x.flag) && f.cmd.Flags().Changed(x.flag) {
			continue
		}
		if x.name == "reason" && commands.IsTaskID(arg) {
			next := f.cmd.CommandPath() + " " + safetext.Quoted(arg)
			if f.cmd.Flags().Lookup("task") != nil {
				next = f.cmd.CommandPath() + " --task " + safetext.Quoted(arg)
			}
			return failure.Usage("%s is a task, not a reason", arg).WithNext("name one task at a time: `%s`", next)
		}
		if strings.TrimSpace(arg) == "" {
			return failure.Usage("%s is required", x.name).
				WithWhy("the given text is empty, perhaps because a variable is not set").
				WithNext("see `%s --help`", f.cmd.CommandPath())
		}
		if err := x.settable().Set(arg); err != nil {
			return err
		}
	}
	return f.readStdin()
}

// readStdin reads the text that was given as "-" from stdin.
func (f *fields) readStdin() error {
	var from *field
	for _, x := range f.texts {
		if v := x.now(); !v.IsValid() || v.String() != "-" {
			continue
		}
		if from != nil {
			return failure.Usage("Only one text can come from stdin").WithNext("write - for one of them only")
		}
		from = x
	}
	if from == nil {
		return nil
	}
	text, err := textOf(f.cmd.InOrStdin(), mayBeEmpty(f.cmd, from.flag))
	if err != nil {
		return err
	}
	return from.settable().Set(text)
}

// textOf reads a text from stdin, without the line breaks at its end. The server checks its length. An empty
// stdin is refused: the program that should have written the text has probably failed.
func textOf(stdin io.Reader, empty bool) (string, error) {
	read, err := io.ReadAll(io.LimitReader(stdin, commands.MaxRequest+1))
	if err != nil {
		return "", fmt.Errorf("read the text from stdin: %w", err)
	}
	text := strings.TrimRight(string(read), "\n")
	if !empty && strings.TrimSpace(text) == "" {
		return "", failure.Usage("There is no text on stdin").
			WithNext("pipe the text into the command, or give it as the value instead of -")
	}
	return text, nil
}

// numbers refuses a given number below 1: the server would take 0 for an omitted flag.
func (f *fields) numbers() error {
	for _, name := range f.flags {
		flag := f.cmd.Flags().Lookup(name)
		var err error
		switch value := flagValue(flag).(type) {
		case *milliseconds:
			err = positive(f.cmd, name, time.Duration(*value)*time.Millisecond)
		default:
			if number, wrong := strconv.Atoi(value.String()); flag.Value.Type() == "int" && wrong == nil {
				err = AtLeastOne(f.cmd, name, number)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// given reports whether a flag of a field was used.
func (f *fields) given() bool { return slices.ContainsFunc(f.flags, f.cmd.Flags().Changed) }

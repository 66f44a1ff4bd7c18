package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// clearable are the flags whose empty value has a meaning for a command that changes an object: a field without a
// value.
var clearable = []string{
	"agent", "agent-id", "criteria", "data", "depends-on", "description", "env", "labels", "metadata", "model",
	"prompt", "skills", "task-ids", "working-dir",
}

// mayBeEmpty reports whether a flag of a command may have an empty value. Otherwise an empty value comes from an unset
// variable in a script, and is not the same as leaving the flag out: `token create --expires "$TTL"` would create a
// token that never expires.
func mayBeEmpty(cmd *cobra.Command, flag string) bool {
	return (cmd.Name() == "update" || cmd.Name() == "edit") && slices.Contains(clearable, flag)
}

// CheckFlags refuses flags that no command accepts.
func CheckFlags(cmd *cobra.Command) error {
	var refused error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if refused == nil {
			refused = checkFlag(cmd, flag)
		}
	})
	return refused
}

func checkFlag(cmd *cobra.Command, flag *pflag.Flag) error {
	value := flag.Value.String()
	if flag.Name == "parent" && (value == "" || value == "none") {
		what := "names no task"
		if value == "" {
			what = "is empty"
		}
		return &ranError{failure.Usage("%s %s", strings.TrimSpace("--parent "+value), what).
			WithNext("`--parent null` means no parent")}
	}
	if (flag.Name == "label" || flag.Annotations[choices] != nil) && strings.Contains(value, ",") {
		return &ranError{failure.Usage("--%s takes one value, not %q", flag.Name, value).
			WithNext("run the command once for each of them")}
	}
	if isEmpty(flag) && !mayBeEmpty(cmd, flag.Name) && flag.Annotations[emptyMeans] == nil {
		return &ranError{failure.Usage("--%s is empty", flag.Name).WithNext("leave the flag out, or give it a value")}
	}
	if words := flag.Annotations[choices]; words != nil && !slices.Contains(words, flag.Value.String()) {
		refused := failure.Usage("--%s %q is unknown", flag.Name, flag.Value)
		meant := ""
		if near := safetext.Nearest(flag.Value.String(), words); near != "" {
			meant = "did you mean " + near + "? "
		}
		return &ranError{refused.WithNext("%sit is one of: %s", meant, strings.Join(words, ", "))}
	}
	for _, group := range flag.Annotations[oneOf] {
		for name := range strings.FieldsSeq(group) {
			if name != flag.Name && cmd.Flags().Changed(name) {
				refused := failure.Usage("--%s and --%s cannot be used together", flag.Name, name)
				return &ranError{refused.WithNext("leave one of them out")}
			}
		}
	}
	return nil
}

// eachHasValue refuses a flag whose value is the name of another flag of the command: the value that was meant is
// missing, for example because a variable of a script is empty and not in quotes. A text that is the name of a flag can
// be written after an equals sign.
func eachHasValue(cmd *cobra.Command, args []string) error {
	cmd.InitDefaultHelpFlag()
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		flag := flagNamed(cmd, args[i])
		if flag == nil || flag.NoOptDefVal != "" { // it takes no value, or only after an equals sign
			continue
		}
		i++
		if name, _, _ := strings.Cut(args[i], "="); flagNamed(cmd, name) != nil {
			refused := failure.Usage("--%s has no value: a flag of `%s` follows, %s", flag.Name, cmd.CommandPath(),
				args[i])
			return &ranError{refused.
				WithNext("give it a value; a variable in its place may be empty; if the value is meant to be %[1]s, "+
					"write --%[2]s=%[1]s", args[i], flag.Name)}
		}
	}
	return nil
}

// flagNamed returns the flag that an argument names, nil if it names none.
func flagNamed(cmd *cobra.Command, arg string) *pflag.Flag {
	if name, long := strings.CutPrefix(arg, "--"); long {
		return cmd.Flag(name)
	}
	if short, is := strings.CutPrefix(arg, "-"); is && len(short) == 1 {
		_ = cmd.InheritedFlags() // adds those of the commands above
		return cmd.Flags().ShorthandLookup(short)
	}
	return nil
}

// emptyMeans is the annotation of a flag of one command whose empty value has a meaning.
const emptyMeans = "empty"

// oneOf is the annotation of flags of which a command accepts only one; each value names the flags of a group.
const oneOf = "one-of"

// Exclude refuses more than one of these flags at once.
func Exclude(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		annotate(cmd, name, oneOf, strings.Join(names, " "))
	}
}

func annotate(cmd *cobra.Command, flag, annotation string, words ...string) {
	if err := cmd.Flags().SetAnnotation(flag, annotation, words); err != nil {
		panic(err) // the flag does not exist: a bug in the program
	}
}

func isEmpty(flag *pflag.Flag) bool {
	if values, ok := flag.Value.(pflag.SliceValue); ok {
		return len(ids(values.GetSlice())) == 0
	}
	return strings.TrimSpace(flag.Value.String()) == ""
}

// onceOnly makes every flag with a single value accept it only once: otherwise the last one would silently win.
func onceOnly(cmd *cobra.Command) {
	once := func(flag *pflag.Flag) {
		if takesOne(flag.Value) {
			flag.Value = &onceValue{Value: flag.Value}
		}
	}
	cmd.Flags().VisitAll(once)
	cmd.PersistentFlags().VisitAll(once)
	for _, verb := range cmd.Commands() {
		onceOnly(verb)
	}
}

// takesOne reports whether a value of a flag replaces the one before it.
func takesOne(value pflag.Value) bool {
	switch v := value.(type) {
	case *textValue, *jsonValue, *milliseconds:
		return true
	case namedValue:
		return takesOne(v.Value)
	}
	switch value.Type() {
	case "string", "int", "int32", "int64", "uint", "uint32", "uint64", "float64", "duration":
		return true
	}
	return false
}

// onceValue is the value of a flag that may be given only once.
type onceValue struct {
	pflag.Value
	given bool
}

// flagValue returns the value of a flag as it was declared.
func flagValue(flag *pflag.Flag) pflag.Value {
	if once, ok := flag.Value.(*onceValue); ok {
		return once.Value
	}
	return flag.Value
}

// errTwice is the error for a flag that is given more than once but takes one value.
var errTwice = errors.New("given more than once")

// Set implements pflag.Value.
func (v *onceValue) Set(text string) error {
	if v.given {
		return errTwice
	}
	v.given = true
	return v.Value.Set(text)
}

// flagError explains in plain words why the flags cannot be parsed.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() { // the flag is that of an unknown command
		return unknownVerb(cmd, args[0])
	}
	see := "see `" + cmd.CommandPath() + " --help`"
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &wrong) && errors.Is(err, errTwice):
		return &ranError{failure.Usage("--%s is given more than once", wrong.GetFlag().Name).
			WithNext("give it once: it takes one value")}
	case errors.As(err, &wrong) && errors.Is(err, errEmptyElement):
		return &ranError{failure.Usage("--%s has an empty element: %q", wrong.GetFlag().Name, wrong.GetValue()).
			WithNext("remove the extra comma, or check that the variable in its place is set")}
	case errors.As(err, &wrong):
		name := "--" + wrong.GetFlag().Name
		return &ranError{
			failure.Usage("%s must be %s, not %q", name, wanted(wrong), wrong.GetValue()).WithNext("%s", see),
		}
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		given := "-" + unknown.GetSpecifiedShortnames()
		refused := failure.Usage("There is no flag %s", given)
		if _, err := strconv.ParseFloat(given, 64); err == nil {
			return &ranError{refused.WithNext("put -- before an argument that begins with a dash, or %s", see)}
		}
		return &ranError{refused.WithNext("%s", see)}
	case errors.As(err, &unknown):
		name, meant := unknown.GetSpecifiedName(), ""
		if near := safetext.Nearest(name, flagNames(cmd)); near != "" {
			meant = "did you mean --" + near + "? "
		}
		return &ranError{failure.Usage("There is no flag --%s", name).WithNext("%s%s", meant, see)}
	case errors.As(err, &noValue):
		return &ranError{failure.Usage("--%s needs a value", noValue.GetFlag().Name).WithNext("%s", see)}
	case errors.As(err, &syntax):
		return &ranError{failure.Usage("%s is not a flag", syntax.GetSpecifiedFlag()).WithNext("%s", see)}
	}
	return fmt.Errorf("%w; %s", err, see)
}

// flagNames returns the flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// wanted says what a flag accepts.
func wanted(err *pflag.InvalidValueError) string {
	value := flagValue(err.GetFlag())
	kind := value.Type()
	if named, ok := value.(namedValue); ok && kind != "<variable>" && kind != aJSONObject {
		kind = named.Value.Type()
	}
	switch kind {
	case "duration":
		return "a duration in hours, minutes or seconds, such as 720h, 10m or 90s"
	case "int", "int32", "int64":
		return "a whole number"
	case "uint", "uint32", "uint64":
		return "a whole number from 0 up"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "<variable>":
		return "NAME=VALUE"
	case aJSONObject:
		return `a JSON object, such as '{"epic":"sign-in"}'`
	}
	return "a value that it takes"
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/commands"
	"maestro/events"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

// sending runs a command line and returns the fields of the command that it sent; nil if it sent none.
func sending(t *testing.T, id string, args ...string) map[string]json.RawMessage {
	t.Helper()
	env, asked := answering(t, 200, `{"sequence":7,"event":null}`)
	runHere(t, env, args...)
	for _, request := range *asked {
		if _, body, found := strings.Cut(request, " auth=Bearer mss_s.1.x "); found &&
			strings.HasPrefix(strings.Replace(request, "?ifFinished=true", "", 1), "POST /api/commands/"+id+" ") {
			var sent map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &sent); err != nil {
				t.Fatalf("%s: %s", request, err)
			}
			return sent
		}
	}
	return nil
}

// example returns a flag with a valid value.
func example(flag *pflag.Flag) []string {
	name := "--" + flag.Name
	switch kind := flag.Value.Type(); {
	case kind == "bool":
		return []string{name}
	case kind == "int":
		return []string{name, "3"}
	case kind == "duration":
		return []string{name, "5m"}
	case kind == "<variable>":
		return []string{name, "A=b"}
	case kind == aJSONObject:
		return []string{name, `{"a":1}`}
	case strings.Contains(kind, "|"):
		word, _, _ := strings.Cut(kind, "|")
		return []string{name, word}
	}
	return []string{name, "x"}
}

// jsonNames returns the fields of a command by their names in JSON.
func jsonNames(command commands.Command) (names []string) {
	for _, of := range reflect.VisibleFields(reflect.TypeOf(command).Elem()) {
		if name := jsonName(of); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// lineOf returns the command line of an id; nil if there is none.
func lineOf(root *cobra.Command, id string) *cobra.Command {
	cmd, _, err := root.Find(strings.Split(id, ":"))
	if err != nil || cmd.Annotations[commandID] != id {
		return nil
	}
	return cmd
}

// Every field of a command that has a command line can be set by a flag or an argument, or is listed as not offered;
// and the list holds nothing else.
func TestEveryFieldIsOfferedOrListed(t *testing.T) {
	workflow, _ := prompt.BuiltIn().Template("execute-simple")
	file := filepath.Join(t.TempDir(), "workflow")
	if err := os.WriteFile(file, []byte(workflow), 0o600); err != nil {
		t.Fatal(err)
	}
	root := (&Run{Env: map[string]string{}}).Root()
	listed := map[string]bool{}
	lines := 0
	for _, row := range commands.CurrentRules().Rows() {
		cmd := lineOf(root, row.ID)
		if cmd == nil || !row.Write {
			continue
		}
		lines++
		body := `{}`
		if row.Alias != "" {
			body = `{"taskIds":["t"]}`
		}
		command, err := commands.Parse(row.ID, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range jsonNames(command) {
			of := strings.TrimPrefix(row.ID, "task:report:")
			if of != row.ID {
				of = "report:" + of
			}
			if key := of + "." + name; notOffered[key] != "" {
				listed[key] = true
				continue
			}
			if notOffered[name] != "" {
				listed[name] = true
				continue
			}
			if !reaches(t, cmd, row.ID, command, name, file) {
				t.Errorf("%s: no flag or argument sets %s; list it in notOffered with the reason", row.ID, name)
			}
		}
	}
	if lines < 40 {
		t.Errorf("only %d command lines were checked", lines)
	}
	for key, reason := range notOffered {
		if !listed[key] {
			t.Errorf("%s is listed as not offered (%s), but no command has this field", key, reason)
		}
	}
}

// reaches reports whether a command line sends a field with its arguments, or with the field's flag.
func reaches(t *testing.T, cmd *cobra.Command, id string, command commands.Command, name, file string) bool {
	t.Helper()
	var required, all []string
	for _, p := range placeholders(cmd.Use) {
		value := "x"
		if p.name == "file" {
			value = file
		}
		all = append(all, value)
		if !p.optional {
			required = append(required, value)
		}
	}
	words := strings.Split(id, ":")
	least, most := slices.Concat(words, required), slices.Concat(words, all)
	tries := [][]string{least, most}
	for _, of := range reflect.VisibleFields(reflect.TypeOf(command).Elem()) {
		flag := cmd.Flags().Lookup(fieldOf(jsonName(of), of.Tag).flag)
		// An update sends its argument only together with another field.
		if flag != nil && (jsonName(of) == name || slices.Contains(required, "x")) {
			tries = append(tries, slices.Concat(least, example(flag)), slices.Concat(most, example(flag)))
		}
	}
	return slices.ContainsFunc(tries, func(args []string) bool {
		_, sent := sending(t, id, args...)[name]
		return sent
	})
}

// filled is a command with a field of every kind that a flag can set.
type filled struct {
	commands.CompleteTask
	Text   string             `json:"text"`
	New    *string            `json:"new" flag:"renamed \"<name>\""`
	IDs    []string           `json:"taskIds"`
	NewIDs *[]string          `json:"newIds"`
	Each   []string           `json:"each" flag:"one \"<text>\"…"`
	Yes    bool               `json:"yes"`
	Count  int                `json:"count"`
	After  int64              `json:"after" doc:"end it after this time, in milliseconds"`
	Env    map[string]string  `json:"env"`
	Free   json.RawMessage    `json:"free"`
	Role   events.Role        `json:"role"`
	Level  *events.TaskStatus `json:"level" flag:"low|high"`
	Target string             `json:"target" arg:"aim"`
	Reason string             `json:"reason" flag:"reason \"<reason>\""`
}

func TestFlagsSetFields(t *testing.T) {
	word, list, none, level := "n", []string{"a", "b", "c"}, []string{}, events.TaskStatus("low")
	tests := []struct {
		args []string
		want filled
	}{
		{[]string{"x"}, filled{Target: "x"}},
		{[]string{"x", "why"}, filled{Target: "x", Reason: "why"}},
		{[]string{"x", "why", "--reason", "flag"}, filled{Target: "x", Reason: "flag"}},
		{[]string{"x", "--text", "a,b", "--renamed", "n"}, filled{Target: "x", Text: "a,b", New: &word}},
		{[]string{"x", "--task-ids", "a, b", "--task-ids", "c"}, filled{Target: "x", IDs: list}},
		{[]string{"x", "--new-ids", "a,b,c"}, filled{Target: "x", NewIDs: &list}},
		{[]string{"x", "--new-ids", ""}, filled{Target: "x", NewIDs: &none}},
		{[]string{"x", "--one", "a", "--one", "b", "--one", "c"}, filled{Target: "x", Each: list}},
		{[]string{"x", "--one", "a,b"}, filled{Target: "x", Each: []string{"a,b"}}},
		{[]string{"x", "--yes", "--count", "3", "--after", "1m30s"}, filled{
			Target: "x",
			Yes:    true,
			Count:  3,
			After:  90_000,
		}},
		{[]string{"x", "--env", "A=b"}, filled{Target: "x", Env: map[string]string{"A": "b"}}},
		{[]string{"x", "--free", `{"a":1}`}, filled{Target: "x", Free: json.RawMessage(`{"a":1}`)}},
		{[]string{"x", "--role", "worker", "--level", "low"}, filled{
			Target: "x", Role: events.RoleWorker,
			Level: &level,
		}},
	}
	line := func(into *filled) (*cobra.Command, *fields) {
		cmd := &cobra.Command{Use: `verb <aim> ["<reason>"]`, Args: Takes, RunE: func(*cobra.Command,
			[]string,
		) error {
			return nil
		}}
		return cmd, bind(cmd, into)
	}
	for _, test := range tests {
		var got filled
		cmd, f := line(&got)
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if err := f.set(cmd.Flags().Args()); err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %+v, want %+v", test.args, got, test.want)
		}
		if flags := len(test.args) > 2; f.given() != flags {
			t.Errorf("%q: given() is %t", test.args, f.given())
		}
	}
	for _, args := range [][]string{
		{"--free", "[1]"},
		{"--free", "null"},
		{"--after", "soon"},
		{"--count", "x"},
		{"--target", "x"},
	} {
		var got filled
		cmd, _ := line(&got)
		if cmd.ParseFlags(args) == nil {
			t.Errorf("%q is accepted: %+v", args, got)
		}
	}
	var got filled
	cmd, _ := line(&got)
	help := cmd.Flags().FlagUsages()
	for _, want := range []string{
		`--renamed "<name>"`, `--one "<text>"…`, "--task-ids <taskIds>",
		"--role worker|orchestrator", "end it after this time, such as 30m",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not say %s:\n%s", want, help)
		}
	}
}

// wordsOfSession returns the words that a manifest accepts in a field of its session.
func wordsOfSession(t *testing.T, name string) []string {
	t.Helper()
	field, ok := reflect.TypeFor[manifest.Session]().FieldByName(name)
	if !ok {
		t.Fatalf("a manifest's session has no %s", name)
	}
	return strings.Split(field.Tag.Get("is"), "|")
}

// A flag offers exactly the words that the rules accept.
func TestFlagsOfferWhatTheRulesTake(t *testing.T) {
	root := (&Run{Env: map[string]string{}}).Root()
	for id, flags := range map[string]map[string][]string{
		"task:create": {"priority": events.Priorities()},
		"task:update": {"priority": events.Priorities(), "status": {
			string(events.TaskTodo), string(events.TaskInProgress), string(events.TaskCompleted),
			string(events.TaskBlocked),
		}},
		"session:spawn": {
			"thinking-mode":   wordsOfSession(t, "ThinkingMode"),
			"permission-mode": wordsOfSession(t, "PermissionMode"),
		},
		"session:update": {"status": {string(events.SessionIdle), string(events.SessionWorking)}},
	} {
		for name, want := range flags {
			if got := strings.Split(lineOf(root, id).Flags().Lookup(name).Value.Type(), "|"); !slices.Equal(got, want) {
				t.Errorf("%s --%s offers %v, the rules accept %v", id, name, got, want)
			}
		}
	}
}

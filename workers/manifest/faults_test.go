package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const minimal = `{"manifestVersion":"1.0","role":"worker",` +
	`"tasks":[{"id":"t1","title":"Fix bug","description":"Fix login bug",` +
	`"parentId":null,"acceptanceCriteria":["Bug is fixed"],"projectId":"p1","createdAt":"2026-02-02T10:00:00Z"}],` +
	`"session":{"model":"sonnet","permissionMode":"acceptEdits"}}`

// with changes the minimal manifest by pairs of an old and a new text.
func with(tb testing.TB, changes ...string) string {
	tb.Helper()
	document := minimal
	for i := 0; i < len(changes); i += 2 {
		if strings.Count(document, changes[i]) != 1 {
			tb.Fatalf("the manifest has %s %d times", changes[i], strings.Count(document, changes[i]))
		}
		document = strings.Replace(document, changes[i], changes[i+1], 1)
	}
	return document
}

func TestFaults(t *testing.T) {
	session := func(members string) []string {
		return []string{`"permissionMode":"acceptEdits"`, `"permissionMode":"acceptEdits",` + members}
	}
	task := func(members string) []string { return []string{`"projectId":"p1"`, `"projectId":"p1",` + members} }
	top := func(members string) []string { return []string{`"role":"worker"`, `"role":"worker",` + members} }
	for _, c := range []struct {
		name    string
		changes []string
		// want are the faults as "pointer: message", each with the beginning of its message.
		want []string
	}{
		{"as it is", nil, nil},
		{"version", []string{`"1.0"`, `"2.0"`}, []string{"/manifestVersion: Unsupported manifest version: 2.0"}},
		{"version as a number", []string{`"1.0"`, `1.0`}, []string{"/manifestVersion: must be a text, not a number"}},
		{
			"null", top(`"skills":null`),
			[]string{"/skills: must be a list, not null; leave it out instead"},
		},
		{"null where it may be", nil, nil},
		{"another case", []string{`"title"`, `"Title"`}, []string{
			`/tasks/0/Title: there is no such member; the name is "title", in just these letters`,
			"/tasks/0/title: is missing; it must be a text",
		}},
		{
			"underscores", task(`"session_ids":[]`),
			[]string{`/tasks/0/session_ids: there is no such member; the name is "sessionIds", in just these letters`},
		},
		{"unknown", top(`"a/b~c":{}`), []string{"/a~1b~0c: there is no such member; put your own data into a task"}},
		{"twice", top(`"role":"worker"`), []string{"/role: the name appears twice; remove one"}},
		{"twice, by an escape", top(`"r\u006fle":"worker"`), []string{"/role: the name appears twice"}},
		{
			"twice in what is free", task(`"metadata":{"a":[{"b":1,"b":2}]}`),
			[]string{"/tasks/0/metadata/a/0/b: the name appears twice"},
		},
		{
			"twice among many", task(`"metadata":{` + many(40) + `,"m3":0}`),
			[]string{"/tasks/0/metadata/m3: the name appears twice"},
		},
		{"many", task(`"metadata":{` + many(40) + `,"n":{` + many(40) + `}}`), nil},
		{
			"unknown in what is known",
			top(`"context":{"codebaseContext":{"x":1},"projectStandards":{"x":1,"codeStyle":{"x":1},"testing":{}},` +
				`"relatedTasks":[{"x":1}],"y":2}`),
			[]string{
				"/context/codebaseContext/x: ", "/context/projectStandards/x: ",
				"/context/projectStandards/codeStyle/x: ",
				"/context/projectStandards/testing/required: is missing; it must be true or false",
				"/context/relatedTasks/0/x: ",
				"/context/relatedTasks/0/id: is missing; it must be an id", "/context/relatedTasks/0/title: ",
				"/context/relatedTasks/0/status: ",
				"/context/relatedTasks/0/relationship: ", "/context/y: ",
			},
		},
		{"in the order of the document", []string{`"worker"`, `"boss"`, `"t1"`, `""`, `"sonnet"`, `7`}, []string{
			`/role: must be "worker" or "orchestrator", not "boss"`, "/tasks/0/id: must be an id: not empty",
			"/session/model: must be a text, not a number",
		}},
		{"half a pair", []string{`"Fix bug"`, `"\ud800"`}, []string{
			"/tasks/0/title: contains half of a surrogate pair",
		}},
		{
			"half a pair in what is free", task(`"metadata":{"a":"\udc00\ud800"}`),
			[]string{"/tasks/0/metadata/a: contains half of a surrogate pair"},
		},
		{"a pair", []string{`"Fix bug"`, `"\ud83d\ude00"`}, nil},
		{
			"NUL", top(`"context":{"codebaseContext":{"relevantFiles":["a\u0000"]}}`),
			[]string{`/context/codebaseContext/relevantFiles/0: holds a NUL character`},
		},
		{"NUL in what is free", task(`"metadata":{"a":"\u0000"}`), nil},
		{"no criteria", []string{`["Bug is fixed"]`, `[]`}, []string{"/tasks/0/acceptanceCriteria: must not be empty"}},
		{
			"long title",
			[]string{`"Fix bug"`, `"` + strings.Repeat("é", 201) + `"`},
			[]string{"/tasks/0/title: has 201 characters; at most 200 are allowed"},
		},
		{"empty strategy", top(`"strategy":""`), []string{"/strategy: must be "}},
		{
			"strategy of the other role", top(`"strategy":"dag"`),
			[]string{`/strategy: strategy must be "simple", "queue", or "tree", not "dag"`},
		},
		{"legacy strategy of the other role", top(`"orchestratorStrategy":"dag"`), []string{"/orchestratorStrategy: "}},
		{
			"two strategies", top(`"strategy":"queue","orchestratorStrategy":"tree"`),
			[]string{`/orchestratorStrategy: says another strategy than "strategy", "queue"; leave it out`},
		},
		{"two strategies alike", top(`"strategy":"queue","orchestratorStrategy":"queue"`), nil},
		{
			"no role, no fault of the strategy",
			[]string{`"role":"worker"`, `"strategy":"dag"`},
			[]string{`/role: is missing; it must be "worker" or "orchestrator"`},
		},
		{"an orchestrator without tasks", []string{
			`"worker"`, `"orchestrator","strategy":"queue"`,
			minimal[strings.Index(minimal, "[{"):strings.Index(minimal, `,"session"`)], "[]",
		}, []string{
			"/strategy: ",
			"/tasks: must not be empty; only a worker",
		}},
		{"half a pair in a name", top(`"\udc00":1`), []string{
			"/\uFFFD: the name contains half of a surrogate pair",
			"/\uFFFD: there is no such member",
		}},
		{
			"task beside tasks",
			top(`"task":{"id":"t0","title":"a","description":"b","acceptanceCriteria":["c"],"projectId":"p",` +
				`"createdAt":"2026-02-02T10:00:00Z"}`),
			[]string{`/task: cannot stand beside "tasks"`},
		},
		{
			"a model of another maker",
			[]string{`"sonnet"`, `"gemini-2.5-pro"`},
			[]string{`/session/model: must be "sonnet", "opus" or "haiku", or the full name of a model that ` +
				`claude runs, not "gemini-2.5-pro"`},
		},
		{"a full name", []string{`"sonnet"`, `"us.anthropic.claude-sonnet-4-5-20250929-v1:0"`}, nil},
		{"a full name of codex", append(session(`"agent":"codex"`), `"sonnet"`, `"gpt-5-codex"`), nil},
		{"a full name of gemini", append(session(`"agent":"gemini"`), `"sonnet"`, `"models/gemini-2.5-pro"`), nil},
		{"any maker's", append(session(`"agent":"auto"`), `"sonnet"`, `"gemini-2.5-pro"`), nil},
		{"no maker's", append(session(`"agent":"auto"`), `"sonnet"`, `"llama-3"`), []string{"/session/model: "}},
		{"a flag as a model", []string{`"sonnet"`, `"--claude-"`}, []string{"/session/model: must be "}},
		{
			"agent", session(`"agent":"cursor"`),
			[]string{`/session/agent: must be "claude", "codex", "gemini" or "auto", or one that ` +
				`is configured, not "cursor"`},
		},
		{
			"commands",
			session(`"allowedCommands":["task:get","task:fly","session:spawn","audit:verify","queue:list",` +
				`"orchestrator:init","session:lost","task list"]`),
			[]string{
				`/session/allowedCommands/1: "task:fly" cannot be allowed: there is no such command`,
				`/session/allowedCommands/2: "session:spawn" cannot be allowed to a session in the column of worker: ` +
					`only orchestrator, user may use it; leave it out`,
				"/session/allowedCommands/3: ", "/session/allowedCommands/4: ", "/session/allowedCommands/5: ",
				"/session/allowedCommands/6: ",
				`/session/allowedCommands/7: must be a command id`,
			},
		},
		{"commands that some strategy may have", append(session(`"allowedCommands":["queue:start","session:spawn"]`),
			top(`"strategy":"dag"`)...), []string{"/strategy: ", "/session/allowedCommands/1: "}},
		{"an alias", session(`"allowedCommands":["task:report:progress"]`), nil},
		{
			"turns", session(`"maxTurns":0`),
			[]string{"/session/maxTurns: must be a whole number from 1 to 2147483647, not 0"},
		},
		{"turns as a fraction", session(`"maxTurns":1.5`), []string{"/session/maxTurns: "}},
		{"turns in another way", session(`"maxTurns":1.50e2`), nil},
		{"timeout", session(`"timeout":9223372036855`), []string{"/session/timeout: "}},
		{"longest timeout", session(`"timeout":9223372036854`), nil},
		{"no timeout", session(`"timeout":0`), nil},
		{
			"endless coverage",
			top(`"context":{"projectStandards":{"testing":{"required":true,"minimumCoverage":1e400}}}`),
			[]string{"/context/projectStandards/testing/minimumCoverage: must be a number below 1.8e308"},
		},
		{
			"circle of one", task(`"dependencies":["t0","t1"]`),
			[]string{`/tasks/0/dependencies/1: closes a circle: "t1" depends on "t1"`},
		},
		{
			"parent of itself",
			[]string{`"parentId":null`, `"parentId":"t1"`},
			[]string{`/tasks/0/parentId: closes a circle: "t1" is below "t1"`},
		},
		{
			"a day that there is not",
			[]string{"2026-02-02T", "2026-02-30T"},
			[]string{"/tasks/0/createdAt: there is no such date and time"},
		},
		{
			"a time without a zone",
			[]string{"10:00:00Z", "10:00:00"},
			[]string{"/tasks/0/createdAt: must be a date and time with a zone"},
		},
		{
			"foreign text in a message",
			[]string{`"worker"`, `"\u001b[31m` + strings.Repeat("x", 200) + `"`},
			[]string{`/role: must be "worker" or "orchestrator", not "�[31m` + strings.Repeat("x", 50)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(with(t, c.changes...)))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				if err != nil || c.want != nil {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				return
			}
			var got []string
			for _, fault := range invalid.Faults {
				got = append(got, fault.Pointer+": "+fault.Message)
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func many(n int) string {
	var names []string
	for i := range n {
		names = append(names, `"m`+strconv.Itoa(i)+`":0`)
	}
	return strings.Join(names, ",")
}

func TestInvalidJSON(t *testing.T) {
	const control = `line 2, column 9: a control character in a text must be escaped, as \u000a`
	for document, want := range map[string]string{
		"":                                 "the document is empty",
		" \n":                              "the document is empty",
		"{\n \"é\": \"x\n":                 control,
		"{\n \"é\" 1}":                     "line 2, column 6: ':' is expected, not '1'",
		"\xef\xbb\xbf" + minimal:           "the document begins with a byte order mark",
		"\xff\xfe{\x00}\x00":               "byte 1 is not UTF-8",
		minimal + "\x00":                   `nothing more is expected, not '\x00'`,
		minimal + minimal:                  "nothing more is expected, not '{'",
		minimal[:100]:                      "the text that begins here has no end",
		minimal[:len(minimal)-1]:           "the document ends where ',' or '}' is expected",
		`{"a":01}`:                         "a number must not begin with a zero",
		`{"a":1.}`:                         "a digit is expected, not '}'",
		`{"a":1e}`:                         "a digit is expected",
		`{"a":-}`:                          "a digit is expected",
		`{"a":+1}`:                         "a value is expected",
		`{"a":NaN}`:                        "a value is expected",
		`{"a":tru}`:                        "a value is expected",
		`{"a":nul`:                         "a value is expected",
		`{"a":[1,]}`:                       "a value is expected",
		`{"a":1,}`:                         "a name in double quotes is expected, not '}'",
		`{"a":"\x"}`:                       `there is no escape \x`,
		`{"a":"\u12g4"}`:                   `\u must be followed by four hexadecimal digits`,
		`{"a":"\u+123"}`:                   `\u must be followed by four hexadecimal digits`,
		`{"a":"\`:                          "the document ends within an escape",
		`[`:                                "the document ends where a value is expected",
		`{"tasks":[}`:                      "a value is expected",
		`{"skills":["a" "b"]}`:             "',' or ']' is expected",
		`{"context":{"custom":{"a":[1 2]}`: "',' or ']' is expected",
	} {
		_, err := Parse([]byte(document))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "" ||
			!strings.Contains(invalid.Faults[0].Message, want) {
			t.Errorf("%q: got %v, want %q", document, err, want)
		}
	}
}

// The first faults in the document are reported, in whatever order they are found, and the others are counted.
func TestFaultsAreBounded(t *testing.T) {
	entries := strings.Repeat(`"task:update",7,`, 500)
	document := with(t, `"permissionMode":"acceptEdits"`,
		`"permissionMode":"acceptEdits","allowedCommands":[`+entries+`8]`)
	_, err := Parse([]byte(document))
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	if len(invalid.Faults) != maxFaults || invalid.More != 1001-maxFaults {
		t.Fatalf("%d faults and %d more", len(invalid.Faults), invalid.More)
	}
	for i, fault := range invalid.Faults {
		if want := fmt.Sprintf("/session/allowedCommands/%d", i); fault.Pointer != want {
			t.Fatalf("fault %d is at %s", i, fault.Pointer)
		}
	}
	if text := err.Error(); !strings.HasSuffix(text, "; and 998 more") {
		t.Errorf("the error says %q", text)
	}
}

// Each cycle is one fault, and a task that only leads to a cycle is not.
func TestCycles(t *testing.T) {
	task := func(id string, dependencies ...string) string {
		return fmt.Sprintf(`{"id":%q,"title":"t","description":"d","acceptanceCriteria":["c"],"projectId":"p",`+
			`"createdAt":"2026-02-02T10:00:00Z","dependencies":[%s]}`,
			id, strings.Join(dependencies, ","))
	}
	document := `{"manifestVersion":"1.0","role":"worker","session":{"model":"opus","permissionMode":"readOnly"},` +
		`"tasks":[` + strings.Join([]string{
		task("way", `"a"`, `"free"`, `"away"`), task("free"), task("a", `"free"`, `"b"`), task("b", `"c"`),
		task("c", `"a"`, `"b"`), task("a"),
	}, ",") + `]}`
	_, err := Parse([]byte(document))
	if got, want := pointers(t, err), []string{
		"/tasks/4/dependencies/0", "/tasks/4/dependencies/1",
		"/tasks/5/id",
	}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q: %v", got, want, err)
	}
	if want := `closes a circle: "a" depends on "b" depends on "c" depends on "a"`; !strings.Contains(err.Error(),
		want) {
		t.Errorf("got %v", err)
	}
}

func TestIDs(t *testing.T) {
	for id, right := range map[string]bool{
		"a": true, "A_1.2-3": true, "a.": true, "a-": true, "é": true, "a b": true, "42": true, strings.Repeat("é",
			128): true,
		"": false, ".": false, "..": false, "a..": false, "a..b": false, "a...b": false, ".a": false, "-a": false,
		"a/b": false, `a\\b`: false, "a,b": false,
		`a\n`: false, `a\u007f`: false, `a\u0085`: false, `\u0000`: false, strings.Repeat("a", 129): false,
	} {
		_, err := Parse([]byte(with(t, `"t1"`, `"`+id+`"`)))
		if want := map[bool][]string{false: {"/tasks/0/id"}}[right]; !slices.Equal(pointers(t, err), want) {
			t.Errorf("%q: got %v", id, err)
		}
	}
}

// The schema's pattern for ids and the check in the code agree on every text of up to four of these letters.
func TestIDPattern(t *testing.T) {
	letters := []string{"a", "é", "0", "_", "-", ".", ",", "/", "\\", " ", "\n", "\x00", "\x7f", "\u0085", "\u00a0"}
	pattern := rules["id"].fits()
	texts := []string{""}
	for range 4 {
		var longer []string
		for _, text := range texts {
			for _, letter := range letters {
				longer = append(longer, text+letter)
			}
		}
		texts = longer
		for _, text := range texts {
			if isID(text) != pattern.MatchString(text) {
				t.Errorf("%q: the check says %v", text, isID(text))
			}
		}
	}
	if isID("") || pattern.MatchString("") {
		t.Error("no text is an id")
	}
}

func TestConfiguredAgents(t *testing.T) {
	document := []byte(with(t, `"sonnet"`, `"llama-3"`, `"permissionMode":"acceptEdits"`,
		`"permissionMode":"acceptEdits","agent":"ours"`))
	if _, err := Parse(document); err == nil {
		t.Error("an agent that is not configured is accepted")
	}
	m, err := Reader{Agents: []string{"ours"}}.Parse(document)
	if err != nil || m.Session.Agent != "ours" || m.Session.Model != "llama-3" {
		t.Errorf("got %+v, %v", m, err)
	}
}

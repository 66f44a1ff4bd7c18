package agent

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestConfigIsRead(t *testing.T) {
	login := false
	got, err := ParseConfig("agents.json", []byte(`{"agents":{
		"claude":{"path":"/opt/claude","env":{"A":"b"},"passEnv":[],"login":false,"args":["-x"]},
		"my-agent2":{"command":["/path/agent.sh","--flag"],"prompt":"file","output":"jsonl"}}}`))
	want := Config{Agents: map[string]Settings{
		"claude": {
			Path:    "/opt/claude",
			Env:     map[string]string{"A": "b"},
			PassEnv: []string{},
			Login:   &login,
			Args:    []string{"-x"},
		},
		"my-agent2": {Command: []string{"/path/agent.sh", "--flag"}, Prompt: "file", Output: "jsonl"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if names := got.Names(); !slices.Equal(names, []string{"claude", "codex", "gemini", "my-agent2"}) {
		t.Errorf("the agents are %q", names)
	}
	for _, name := range got.Names() {
		if driver, err := got.Driver(name); err != nil || driver.Name() != name {
			t.Errorf("%s: %v, %v", name, driver, err)
		}
	}
	var unknown *UnknownError
	if _, err := got.Driver("other"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "my-agent2") {
		t.Errorf("%v", err)
	}
}

// A fault names its place, what is expected and what to do.
func TestConfigFaults(t *testing.T) {
	for _, row := range [][3]string{
		{``, "it is empty", "remove it"},
		{`{"agents":`, "it ends before all its brackets and quotes are closed", "an example"},
		{`[]`, "it is a list, and must be an object", "an example"},
		{"{\"agents\":{\n\"x\":{\"command\":[\"/a\",]}}}", "it is not JSON from line 2, character 22 on", "comma"},
		{`{"agents":{}} x`, "there is more after its end", "remove"},
		{`{"agent":{}}`, `there is no field "agent"`, `write "agents"`},
		{`{"agents":{"a~/b":{}}}`, "at /agents/a~0~1b, an agent's name", "another name"},
		{`{"agents":{"auto":{}}}`, "at /agents/auto, an agent's name", "another name"},
		{`{"agents":{"x":{}}}`, "at /agents/x/command, the agent has no command", `"command": [`},
		{`{"agents":{"x":{"command":["a"]}}}`, `at /agents/x/command/0, "a" is not an absolute`, "`command -v a`"},
		{`{"agents":{"x":{"command":["/a"],"prompt":"arg"}}}`, `at /agents/x/prompt, "arg" is no way`, "stdin or file"},
		{`{"agents":{"x":{"command":["/a"],"output":"xml"}}}`, `at /agents/x/output, "xml" is no form`, "or jsonl"},
		{`{"agents":{"x":{"command":["/a"],"path":"/b"}}}`, "at /agents/x/path, the agent is not claude", "command"},
		{`{"agents":{"x":{"command":["/a"],"args":[]}}}`, "at /agents/x/args, the agent is not claude", "command"},
		{`{"agents":{"x":{"command":["/a"],"login":true}}}`, "at /agents/x/login, the agent is not claude", "remove"},
		{
			`{"agents":{"x":{"command":["/a"],"env":{"MAESTRO_X":"1"}}}}`,
			`at /agents/x/env, "MAESTRO_X" is one of Maestro's`,
			"remove the variable",
		},
		{`{"agents":{"x":{"command":["/a"],"env":{"PATH":"1"}}}}`, `at /agents/x/env, "PATH" is set by`, "remove"},
		{`{"agents":{"x":{"command":["/a"],"env":{"A=":"1"}}}}`, `at /agents/x/env, "A=" is no name`, "remove"},
		{
			`{"agents":{"x":{"command":["/a"],"env":{"A":"\u0000"}}}}`,
			`at /agents/x/env, the value of "A" has a zero byte`,
			"remove",
		},
		{
			`{"agents":{"x":{"command":["/a"],"passEnv":["A","MAESTRO_TOKEN"]}}}`,
			`at /agents/x/passEnv/1, "MAESTRO_TOKEN"`,
			"remove",
		},
		{`{"agents":{"claude":{"command":["/a"]}}}`, "at /agents/claude/command, claude has no command", "path"},
		{`{"agents":{"codex":{"prompt":"file"}}}`, "at /agents/codex/prompt, codex always", "remove"},
		{`{"agents":{"gemini":{"output":"text"}}}`, "at /agents/gemini/output, the output", "remove"},
		{`{"agents":{"gemini":{"path":"bin/gemini"}}}`, `at /agents/gemini/path, "bin/gemini"`, "`command -v g"},
		{`{"agents":{"gemini":{"paths":"/bin/gemini"}}}`, `at /agents/gemini, there is no field "paths"`, `"path"`},
		{`{"agents":{"gemini":{"path":1}}}`, `at /agents/gemini, the field "path" is a number`, "correct it"},
	} {
		content, want, fix := row[0], row[1], row[2]
		_, err := ParseConfig("agents.json", []byte(content))
		var fault *ConfigError
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "agents.json cannot be used: "+want) ||
			!strings.Contains(fault.Fix, fix) {
			t.Errorf("%s: %+v, want: %s, %s", content, err, want, fix)
		}
	}
}

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
	got, err := ParseConfig([]byte(`{"agents":{
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

// A fault names its place and what is expected.
func TestConfigFaults(t *testing.T) {
	for _, row := range [][2]string{
		{``, ": it is cut short"},
		{`[]`, ": it is a list, and must be an object"},
		{`{"agents":{}} x`, ""},
		{`{"agent":{}}`, `: there is no field "agent"`},
		{`{"agents":{"a~/b":{}}}`, "/agents/a~0~1b: an agent's name"},
		{`{"agents":{"auto":{}}}`, "/agents/auto: an agent's name"},
		{`{"agents":{"x":{}}}`, "/agents/x/command: it is missing"},
		{`{"agents":{"x":{"command":["a"]}}}`, "/agents/x/command/0: it must be an absolute path"},
		{`{"agents":{"x":{"command":["/a"],"prompt":"arg"}}}`, "/agents/x/prompt: it must be stdin or file"},
		{`{"agents":{"x":{"command":["/a"],"output":"xml"}}}`, "/agents/x/output: it must be text or jsonl"},
		{`{"agents":{"x":{"command":["/a"],"path":"/b"}}}`, "/agents/x/path: only claude"},
		{`{"agents":{"x":{"command":["/a"],"args":[]}}}`, "/agents/x/path: only claude"},
		{`{"agents":{"x":{"command":["/a"],"login":true}}}`, "/agents/x/login: only claude"},
		{
			`{"agents":{"x":{"command":["/a"],"env":{"MAESTRO_X":"1"}}}}`,
			`/agents/x/env: "MAESTRO_X" is one of Maestro's`,
		},
		{`{"agents":{"x":{"command":["/a"],"env":{"PATH":"1"}}}}`, `/agents/x/env: "PATH" is set by Maestro`},
		{`{"agents":{"x":{"command":["/a"],"env":{"A=":"1"}}}}`, `/agents/x/env: "A=" is no name`},
		{
			`{"agents":{"x":{"command":["/a"],"env":{"A":"\u0000"}}}}`,
			`/agents/x/env: the value of "A" has a zero byte`,
		},
		{
			`{"agents":{"x":{"command":["/a"],"passEnv":["A","MAESTRO_TOKEN"]}}}`,
			`/agents/x/passEnv/1: "MAESTRO_TOKEN"`,
		},
		{`{"agents":{"claude":{"command":["/a"]}}}`, "/agents/claude/command: claude has no command"},
		{`{"agents":{"codex":{"prompt":"file"}}}`, "/agents/codex/prompt: codex always"},
		{`{"agents":{"gemini":{"output":"text"}}}`, "/agents/gemini/output: the output"},
		{`{"agents":{"gemini":{"path":"bin/gemini"}}}`, "/agents/gemini/path: it must be an absolute"},
		{`{"agents":{"gemini":{"paths":"/bin/gemini"}}}`, `/agents/gemini: there is no field "paths"`},
		{`{"agents":{"gemini":{"path":1}}}`, `/agents/gemini: the field "path" is a number`},
	} {
		content, want := row[0], row[1]
		_, err := ParseConfig([]byte(content))
		var fault *ConfigError
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "invalid configuration of agents: ") ||
			!strings.Contains(err.Error(), strings.TrimPrefix(want, ": ")) {
			t.Errorf("%s: %v, want: %s", content, err, want)
		}
	}
}

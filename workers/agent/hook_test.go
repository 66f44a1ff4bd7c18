package agent

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestHookPayloads(t *testing.T) {
	patch := "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: /abs/c\n*** Move to: d\n*** Delete File: e\n*** End Patch"
	patchJSON, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]HookCall{
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"toolu_1","cwd":"/t","tool_input":{"command":"ls"}}`: {
			Agent: Claude, Tool: "Bash", Kind: KindShell, Command: "ls", CallID: "toolu_1", Key: "toolu_1", Cwd: "/t",
		},
		`{"hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"t","agent_id":"a1","agent_type":"Explore","tool_input":{"file_path":"/x"}}`: {
			Agent: Claude, Tool: "Write", Kind: KindEdit, Paths: []string{"/x"}, CallID: "t", Key: "t", Subagent: "Explore",
		},
		`{"hook_event_name":"PreToolUse","tool_name":"New","tool_use_id":"t","tool_input":[1]}`: {
			Agent: Claude, Tool: "New", Kind: KindOther, CallID: "t", Key: "t",
		},
		`{"hook_event_name":"PreToolUse","turn_id":"u","tool_name":"Bash","tool_use_id":"exec-1","tool_input":{"command":"ls"}}`: {
			Agent: Codex, Tool: "Bash", Kind: KindShell, Command: "ls", CallID: "exec-1", Key: keyOf(Codex, "Bash", "", "ls"),
		},
		`{"hook_event_name":"PreToolUse","turn_id":"u","tool_name":"apply_patch","tool_input":{"command":` + string(patchJSON) + `}}`: {
			Agent: Codex, Tool: "apply_patch", Kind: KindEdit, Paths: []string{"a b.txt", "/abs/c", "d", "e"}, Key: "apply_patch",
		},
		`{"hook_event_name":"PreToolUse","turn_id":"u","tool_name":"collaborationspawn_agent","tool_input":{}}`: {
			Agent: Codex, Tool: "collaborationspawn_agent", Kind: KindSubagent, Key: "collaborationspawn_agent",
		},
		`{"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"/d"}}`: {
			Agent: Gemini, Tool: "run_shell_command", Kind: KindShell, Command: "ls", Paths: []string{"/d"},
			Key: keyOf(Gemini, "run_shell_command", "", "ls"),
		},
		`{"hook_event_name":"AfterTool","tool_name":"replace","tool_input":{"file_path":"f"}}`: {
			Agent: Gemini, After: true, Tool: "replace", Kind: KindEdit, Paths: []string{"f"}, Key: "replace",
		},
	} {
		got, err := ParseHook([]byte(content))
		got.Input = nil
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v, %v; want\n%+v", content, got, err, want)
		}
	}
	for _, content := range []string{
		``, `[]`, `{}`, `{"hook_event_name":"Stop","tool_name":"Bash"}`, `{"hook_event_name":"PreToolUse"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":["ls"]}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"cmd":"ls"}}`,
		`{"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"ls"}`,
	} {
		call, err := ParseHook([]byte(content))
		if err == nil {
			t.Errorf("%s is read as %+v", content, call)
		}
		if answer := call.Denied(" "); answer.ExitCode != 2 || strings.TrimSpace(answer.Stderr) == "" || answer.Stdout != "" {
			t.Errorf("%+v", answer) // Codex and Gemini let a call run that is denied without a text
		}
	}
}

func TestAllowedAnswers(t *testing.T) {
	for _, c := range []struct {
		call HookCall
		mail string
		want string
	}{
		{HookCall{Agent: Claude}, "<b> \"x\"", `{"hookSpecificOutput":{"additionalContext":"<b> \"x\"","hookEventName":"PreToolUse"}}` + "\n"},
		{HookCall{Agent: Codex}, "x", `{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PreToolUse"}}` + "\n"},
		{HookCall{Agent: Gemini, After: true}, "x", `{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"AfterTool"}}` + "\n"},
		{HookCall{Agent: Gemini}, "x", ""},
		{HookCall{Agent: Claude, Subagent: "Explore"}, "x", ""},
		{HookCall{Agent: Claude}, "", ""},
	} {
		answer, delivered := c.call.Allowed(c.mail)
		if answer.Stdout != c.want || answer.ExitCode != 0 || answer.Stderr != "" || delivered != (c.want != "") {
			t.Errorf("%+v: %+v, %t", c.call, answer, delivered)
		}
	}
}

// The line denies with a text unless the hook allows, whatever its path is.
func TestHookLine(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("timeout")
	if err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []string{filepath.Dir(real), "/none"} {
		for content, allowed := range map[string]bool{
			"exit 0": true, "exit 1": false, "exit 2": false, "echo no >&2; exit 2": false, "kill -9 $$": false,
			"exit 127": false, "test \"$2\" = \"it's \\$HOME; x\"": true, "": true,
		} {
			dir := filepath.Join(t.TempDir(), "it's $HOME `x`")
			hook := filepath.Join(dir, "maestro")
			put(t, hook, "#!/bin/sh\n"+content+"\n")
			if err := exec.CommandContext(t.Context(), "chmod", "700", hook).Run(); err != nil {
				t.Fatal(err)
			}
			l := Launch{Hook: []string{hook, "hook", "it's $HOME; x"}, Environ: []string{"PATH=" + timeout}}
			line, err := l.hookLine()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), sh, "-c", line)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			err = cmd.Run()
			code := cmd.ProcessState.ExitCode()
			if allowed != (code == 0) || !allowed && (code != 2 || !strings.Contains(stderr.String(), denial)) {
				t.Errorf("%q ends with %d, %q: %v", content, code, stderr.String(), err)
			}
		}
	}
	gone := Launch{Hook: []string{"/none/maestro"}}
	line, err := gone.hookLine()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c", line)
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("a missing hook ends with %d", cmd.ProcessState.ExitCode())
	}
}

func FuzzParseHook(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"turn_id":"x"}`))
	f.Add([]byte(`{"hook_event_name":"AfterTool","tool_name":"x","tool_input":null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		call, err := ParseHook(content)
		if err == nil && (call.Agent == "" || call.Tool == "" || call.Kind == "" ||
			(call.Kind == KindShell) != (call.Command != "")) {
			t.Errorf("%q is read as %+v", content, call)
		}
	})
}

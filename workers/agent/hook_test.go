package agent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestHookPayloads(t *testing.T) {
	const claude, codex = `"hook_event_name":"PreToolUse"`, `"hook_event_name":"PreToolUse","turn_id":"u"`
	const before = `"hook_event_name":"BeforeTool"`
	const patch = `*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: /c\n*** Move to: d\n*** Delete File: e`
	for _, row := range [][2]string{
		{
			claude + `,"tool_name":"Bash","tool_use_id":"toolu_1","cwd":"/t","tool_input":{"command":"ls"}`,
			`claude Bash shell "ls" [] id toolu_1 key toolu_1 in "/t" by ""`,
		},
		{
			claude + `,"tool_name":"Write","tool_use_id":"t","agent_type":"Explore","tool_input":{"file_path":"/x"}`,
			`claude Write edit "" ["/x"] id t key t in "" by "Explore"`,
		},
		{
			claude + `,"tool_name":"New","tool_use_id":"t","agent_id":"a1","tool_input":[1]`,
			`claude New other "" [] id t key t in "" by "a1"`,
		},
		{
			codex + `,"tool_name":"Bash","tool_use_id":"exec-1","tool_input":{"command":"ls"}`,
			`codex Bash shell "ls" [] id exec-1 key ` + keyOf(Codex, "Bash", "", "ls") + ` in "" by ""`,
		},
		{
			codex + `,"tool_name":"apply_patch","tool_input":{"command":"` + patch + `"}`,
			`codex apply_patch edit "" ["a b.txt" "/c" "d" "e"] id  key apply_patch in "" by ""`,
		},
		{
			codex + `,"tool_name":"collaborationspawn_agent","tool_input":{}`,
			`codex collaborationspawn_agent subagent "" [] id  key collaborationspawn_agent in "" by ""`,
		},
		{
			before + `,"tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"/d"}`,
			`gemini run_shell_command shell "ls" ["/d"] id  key ` +
				keyOf(Gemini, "run_shell_command", "", "ls") + ` in "" by ""`,
		},
		{
			`"hook_event_name":"AfterTool","tool_name":"replace","tool_input":{"file_path":"f"}`,
			`gemini replace edit "" ["f"] id  key replace in "" by "" after`,
		},
	} {
		content, want := row[0], row[1]
		c, err := ParseHook([]byte("{" + content + "}"))
		got := fmt.Sprintf("%s %s %s %q %q id %s key %s in %q by %q", c.Agent, c.Tool, c.Kind, c.Command, c.Paths,
			c.CallID, c.Key, c.Cwd, c.Subagent)
		if c.After {
			got += " after"
		}
		if err != nil || got != want {
			t.Errorf("%s is\n%s, %v; want\n%s", content, got, err, want)
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
		// Codex and Gemini let a call run that is denied without a text.
		if a := call.Denied(" "); a.ExitCode != 2 || strings.TrimSpace(a.Stderr) == "" || a.Stdout != "" {
			t.Errorf("%+v", a)
		}
	}
}

func TestAllowedAnswers(t *testing.T) {
	answer := func(event, mail string) string {
		return `{"hookSpecificOutput":{"additionalContext":"` + mail + `","hookEventName":"` + event + `"}}` + "\n"
	}
	for _, c := range []struct {
		call HookCall
		mail string
		want string
	}{
		{HookCall{Agent: Claude}, "<b> \"x\"", answer("PreToolUse", `<b> \"x\"`)},
		{HookCall{Agent: Codex}, "x", answer("PreToolUse", "x")},
		{HookCall{Agent: Gemini, After: true}, "x", answer("AfterTool", "x")},
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

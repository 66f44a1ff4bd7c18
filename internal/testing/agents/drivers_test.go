//go:build agents

package agents_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"maestro/internal/testing/mockmodel"
	"maestro/workers/agent"
)

// An agent runs in the target, is told what it needs, asks the hook about each call, and its usage is known.
func TestDriversRunAgents(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.launch.Skills = []agent.Skill{skill()}
		notes := map[string]string{agent.Claude: "CLAUDE.md", agent.Codex: "AGENTS.md", agent.Gemini: "GEMINI.md"}
		r.put(notes[r.name], "NOTES-SEEN\n")
		// Its quotes come back from each CLI as they were.
		command := `echo 'a "b" c' "it's $HOME" \$x > out.txt; command -v maestro >> out.txt; env > env.txt`
		r.steps(mockmodel.Shell(command))
		o := r.run(agent.Used{})

		content, err := os.ReadFile(filepath.Join(r.launch.Target, "out.txt"))
		if err != nil || !strings.Contains(string(content), `a "b" c it's `) ||
			!strings.Contains(string(content), filepath.Join(r.launch.Maestro, "maestro")+"\n") {
			t := string(content)
			r.Errorf("the command wrote %q, %v", t, err)
		}
		env, err := os.ReadFile(filepath.Join(r.launch.Target, "env.txt"))
		if err != nil || strings.Contains(string(env), "MAESTRO_TOKEN") || strings.Contains(string(env), "SOMETHING") {
			r.Errorf("the environment of the agent is\n%s%v", env, err)
		}
		for _, text := range []string{"PROMPT-SEEN", "SYSTEM-SEEN", "NOTES-SEEN", "SKILL-SEEN"} {
			if !r.asked(text) {
				r.Errorf("the model was not told %s", text)
			}
		}
		if r.asked("root:x:0") {
			r.Error("a word of the prompt became the content of a file")
		}
		judged := r.judged()
		called, returned := seen[agent.Called](o), seen[agent.Returned](o)
		if len(called) != 1 || len(judged) == 0 || len(returned) != 1 {
			r.Fatalf("%d calls, %d judged, %d returned", len(called), len(judged), len(returned))
		}
		call := judged[0].Call
		if called[0].Command != command || call.Command != command || call.Key != called[0].Key || call.Key == "" ||
			call.Agent != r.name || call.Cwd != r.launch.Target {
			r.Errorf("called %+v, judged %+v", called[0], call)
		}
		if returned[0].ID != called[0].ID || returned[0].Failed {
			r.Errorf("returned %+v", returned[0])
		}
		began, said, ended := seen[agent.Began](o), seen[agent.Said](o), seen[agent.Ended](o)
		if len(began) != 1 || began[0].Conversation == "" || len(ended) != 1 || !ended[0].OK || len(said) == 0 ||
			said[len(said)-1].Text != "Done." {
			r.Errorf("began %+v, said %+v, ended %+v", began, said, ended)
		}
		want := agent.Used{
			Turns:  2,
			Input:  2 * mockmodel.InputTokens,
			Cached: 2 * mockmodel.CachedTokens,
			Output: 2 * mockmodel.OutputTokens,
		}
		if r.name == agent.Gemini { // it asks a small model first
			o.used.Turns, want.Turns = 0, 0
			want.Input, want.Cached, want.Output = want.Input*3/2, want.Cached*3/2, want.Output*3/2
		}
		if o.used != want {
			r.Errorf("used %+v, want %+v", o.used, want)
		}
		for _, path := range append(o.start.ReadOnly, o.start.ReadWrite...) {
			if _, err := os.Stat(path); err != nil {
				r.Error(err)
			}
		}
		if *record {
			r.record("works", o)
		}
	})
}

// The hook denies a call before it runs, and the model reads the reason.
func TestHookDenies(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.steps(mockmodel.Shell("touch forbidden"), mockmodel.Shell("touch other"))
		o := r.run(agent.Used{})
		if r.has("forbidden") || !r.has("other") || !r.asked("this call is forbidden: use another command") {
			r.Errorf("a denied call ran, or an allowed one did not, or the model was not told")
		}
		for _, call := range seen[agent.Called](o) {
			if strings.Contains(call.Command, "forbidden") && call.Ran {
				r.Errorf("shown as run: %+v", call)
			}
		}
		if *record {
			r.record("denied", o)
		}
	})
}

// However the hook fails, the call does not run.
func TestHookFailsClosed(t *testing.T) {
	for _, mode := range []string{"exit", "silent", "signal", "slow", "panic", "missing"} {
		t.Run(mode, func(t *testing.T) {
			everyAgent(t, func(r *rig) {
				r.launch.Hook[2] = mode
				r.launch.HookSeconds = 2
				if mode == "missing" {
					r.launch.Hook[0] += "-gone"
				}
				r.steps(mockmodel.Shell("touch ran"))
				o := r.run(agent.Used{})
				if r.has("ran") {
					r.Error("the call ran")
				}
				if ended := seen[agent.Ended](o); len(ended) != 1 || !ended[0].OK {
					r.Errorf("it did not end as after a denial: %+v", ended)
				}
			})
		})
	}
}

// off are the files with which a directory could switch the hook off.
var off = map[string]string{
	".claude/settings.json":       `{"disableAllHooks":true,"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:1"}}`,
	".claude/settings.local.json": `{"disableAllHooks":true}`,
	".codex/config.toml":          "[features]\nhooks=false\n",
	".codex/hooks.json":           `{"hooks":{"PreToolUse":[]}}`,
	".gemini/settings.json":       `{"hooksConfig":{"enabled":false},"hooks":{"BeforeTool":[]}}`,
	".gemini/.env":                "GEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_CLI_HOME=.\n",
	".env":                        "GEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_CLI_HOME=.\nCODEX_HOME=.\n",
}

// The target cannot switch the hook off, nor can an agent in its own directory, in this run or for the next one.
func TestHookCannotBeSwitchedOff(t *testing.T) {
	everyAgent(t, func(r *rig) {
		for name, content := range off {
			r.put(name, content)
		}
		state := filepath.Join(r.launch.State, r.name)
		// The CLIs notice changed settings after a second.
		change := "cd " + state + " && mkdir -p .gemini && T=" + r.launch.Target + " && cp $T/.claude/settings.json " +
			"$T/.codex/* $T/.env . && cp $T/.gemini/settings.json $T/.gemini/.env .gemini && sleep 2"
		r.steps(mockmodel.Shell("touch forbidden"), mockmodel.Shell(change), mockmodel.Shell("touch forbidden"))
		r.run(agent.Used{})
		if r.has("forbidden") {
			r.Error("the hook was switched off")
		}
		for _, sub := range []string{".", ".gemini"} {
			for name, content := range off {
				path := filepath.Join(state, sub, filepath.Base(name))
				if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(content), 0o600) != nil {
					r.Fatal("cannot write ", path)
				}
			}
		}
		r.run(agent.Used{})
		if r.has("forbidden") {
			r.Error("what an earlier run left has switched the hook off")
		}
		if len(r.judged()) < 6 {
			r.Errorf("the hook was asked %d times", len(r.judged()))
		}
	})
}

// An agent that was killed in the middle of a call continues its conversation, and its usage is counted once.
func TestKilledAgentIsResumed(t *testing.T) {
	everyAgent(t, func(r *rig) {
		kept := filepath.Join(r.launch.Target, "kept")
		if err := syscall.Mkfifo(kept, 0o600); err != nil {
			r.Fatal(err)
		}
		// The CLIs write their conversation some time after they show it: Claude Code a call and the result before it,
		// Gemini only what is complete.
		written := map[string]string{agent.Claude: "during", agent.Codex: "before", agent.Gemini: "before"}[r.name]
		r.steps(mockmodel.Shell("touch before"), mockmodel.Shell("touch during; until grep -rq 'touch[ ]"+written+"' "+
			r.launch.State+"; do sleep 0.1; done; echo > kept; sleep 600"))
		var conversation string
		first := r.watch(agent.Used{}, func(o agent.Observation, cmd *exec.Cmd) {
			switch o := o.(type) {
			case agent.Began:
				conversation = o.Conversation
			case agent.Called:
				if strings.Contains(o.Command, "sleep") {
					if _, err := os.ReadFile(kept); err != nil {
						r.Error(err)
					}
					killTree(r, cmd.Process.Pid)
				}
			}
		})
		if first.exitCode != -1 || len(seen[agent.Ended](first)) != 0 || conversation == "" || !r.has("before") {
			r.Fatalf("it ended with %d, in the conversation %q", first.exitCode, conversation)
		}
		r.mu.Lock()
		r.requests = nil
		r.mu.Unlock()
		r.launch.Conversation, r.launch.Prompt = conversation, "You were interrupted. CONTINUE-SEEN"
		r.script = func([]string, []mockmodel.Result) mockmodel.Step { return mockmodel.Step{Text: "Done."} }
		second := r.run(first.used)
		if began := seen[agent.Began](second); len(began) != 1 || began[0].Conversation != conversation {
			r.Errorf("it began %+v, not %q", began, conversation)
		}
		for _, text := range []string{"PROMPT-SEEN", "SYSTEM-SEEN", "CONTINUE-SEEN", "touch before"} {
			if !r.asked(text) {
				r.Errorf("the model was not told %s", text)
			}
		}
		// Claude Code shows each answer of its model. Codex does not know the answer whose call was killed, and Gemini
		// nothing of the killed run, but asks a small model first.
		answers := map[string]int64{agent.Claude: 3, agent.Codex: 2, agent.Gemini: 2}[r.name]
		if total := first.used.Input + second.used.Input; total != answers*mockmodel.InputTokens {
			r.Errorf("used %+v and %+v", first.used, second.used)
		}
		if *record {
			r.record("resumed", second)
		}
	})
}

// The limit of turns holds, by the CLI or by counting, and the model is the chosen one.
func TestLimitsAndModel(t *testing.T) {
	models := map[string]string{agent.Claude: "haiku", agent.Codex: "gpt-5.6-codex", agent.Gemini: "gemini-3.8-pro"}
	everyAgent(t, func(r *rig) {
		r.launch.Model, r.launch.Options.MaxTurns = models[r.name], 2
		r.launch.Options.ThinkingMode = "disabled"
		step := mockmodel.Shell("echo again")
		r.steps(step, step, step, step, step, step)
		o := r.run(agent.Used{})
		thinks := map[string]string{
			agent.Claude: `"thinking":{"type":"disabled"`, agent.Codex: `"effort":"low"`,
			agent.Gemini: `"thinkingBudget":0`,
		}[r.name]
		if !r.asked(thinks) {
			r.Errorf("no request has %s:\n%.3000s", thinks, strings.Join(r.requests, "\n"))
		}
		if !r.asked(models[r.name]) && r.name != agent.Gemini {
			r.Errorf("the model %s was not asked", models[r.name])
		}
		if r.name == agent.Codex {
			if !o.start.CountTurns || o.used.Turns != 7 {
				r.Errorf("%+v", o.used)
			}
			return
		}
		ended := seen[agent.Ended](o)
		if o.start.CountTurns || o.exitCode == 0 || len(ended) > 1 || len(seen[agent.Called](o)) > 3 {
			r.Errorf("ended with %d %+v after %d calls", o.exitCode, ended, len(seen[agent.Called](o)))
		}
		if len(ended) == 1 && ended[0].Cause != agent.CauseTurns {
			r.Errorf("ended %+v", ended)
		}
		if len(ended) == 0 && r.driver.Explain(o.exitCode) == "" {
			r.Errorf("nothing says why it ended with %d", o.exitCode)
		}
		if *record {
			r.record("turns", o)
		}
	})
}

// An agent that may only read cannot write, whatever the hook says, or the driver says that the hook has to see to it.
// It can run maestro.
func TestReadOnlyAgents(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.launch.Options.PermissionMode = "readOnly"
		r.put("README.md", "README-SEEN\n")
		write := mockmodel.Step{Tool: "Write", Arguments: map[string]any{
			"file_path": filepath.Join(r.launch.Target, "written"), "content": "x",
		}}
		if r.name == agent.Gemini {
			write.Tool = "write_file"
		}
		if r.name == agent.Codex {
			write = mockmodel.Shell("true")
		}
		r.steps(
			mockmodel.Shell("maestro whoami"), mockmodel.Shell("touch written"), mockmodel.Shell("maestro > written"),
			mockmodel.Shell("maestro; touch written"), write,
		)
		r.run(agent.Used{})
		// Codex relies on the hook, which allows everything here.
		if r.has("written") != (r.name == agent.Codex) {
			r.Errorf("written: %t", r.has("written"))
		}
		if !r.asked("this is maestro") {
			r.Error("maestro did not run")
		}
	})
}

// Mail reaches the model with a tool call.
func TestHookDeliversMail(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.launch.Hook[2] = `judgeThe door is "blue" & <dry>. MAIL-SEEN`
		r.steps(mockmodel.Shell("true"), mockmodel.Shell("true"))
		r.run(agent.Used{})
		if !r.asked("MAIL-SEEN") {
			r.Error("the model did not read the mail")
		}
	})
}

// The programs are found to be usable, and their login is missed.
func TestCheckFindsPrograms(t *testing.T) {
	everyAgent(t, func(r *rig) {
		if findings := r.driver.Check(r.Context(), r.launch.Environ, program); len(findings) != 0 {
			r.Errorf("%+v", findings)
		}
		bare, err := agent.Config{}.Driver(r.name)
		if err != nil {
			r.Fatal(err)
		}
		environ := append(slices.Clone(r.launch.Environ), "PATH="+*clis+":"+os.Getenv("PATH"))
		findings := bare.Check(r.Context(), environ, program)
		if len(findings) != 1 || findings[0].ID != agent.FindingLogin {
			r.Errorf("%+v", findings)
		}
	})
}

// The hook sees the calls of an agent that the agent starts.
func TestHookSeesSubagents(t *testing.T) {
	everyAgent(t, func(r *rig) {
		start := map[string]mockmodel.Step{
			agent.Claude: {Tool: "Task", Arguments: map[string]any{
				"description": "paint", "prompt": "SUBAGENT-SEEN", "subagent_type": "general-purpose",
			}},
			agent.Codex: {Tool: "collaboration/spawn_agent", Arguments: map[string]any{
				"message": "SUBAGENT-SEEN", "task_name": "paint",
			}},
			agent.Gemini: {Tool: "invoke_agent", Arguments: map[string]any{
				"agent_name": "generalist", "prompt": "SUBAGENT-SEEN",
			}},
		}[r.name]
		begun := false
		r.script = func(tools []string, results []mockmodel.Result) mockmodel.Step {
			switch {
			case !begun:
				begun = true
				return start
			case r.name == agent.Codex && !slices.ContainsFunc(results, forbidden) && len(results) < 2:
				return mockmodel.Shell("sleep 1; touch forbidden") // whichever agent asks
			case len(results) == 0:
				return mockmodel.Shell("touch forbidden")
			case slices.Contains(tools, "complete_task"):
				return mockmodel.Step{Tool: "complete_task", Arguments: map[string]any{"result": "Done."}}
			}
			return mockmodel.Step{Text: "Done."}
		}
		r.run(agent.Used{})
		judged := r.judged()
		if len(judged) < 2 || judged[0].Call.Kind != agent.KindSubagent || judged[0].Call.Subagent != "" {
			r.Fatalf("judged %+v", judged)
		}
		sub := slices.ContainsFunc(judged, func(n noted) bool {
			return n.Call.Kind == agent.KindShell && !n.Allowed && (n.Call.Subagent != "" || r.name == agent.Gemini)
		})
		if !sub || r.has("forbidden") {
			r.Errorf("the call of the subagent was not denied: %+v", judged)
		}
	})
}

func forbidden(r mockmodel.Result) bool { return strings.Contains(r.Text, "forbidden") }

// A model that does not accept the login ends the run with a cause that a person understands.
func TestModelRefusesLogin(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.status = http.StatusUnauthorized
		o := r.run(agent.Used{})
		ended := seen[agent.Ended](o)
		said := r.driver.Explain(o.exitCode)
		if o.exitCode == 0 || (len(ended) != 1 || ended[0].Cause != agent.CauseLogin) && said == "" {
			r.Errorf("exit code %d (%s), ended %+v", o.exitCode, said, ended)
		}
		if *record {
			r.record("login", o)
		}
	})
}

// The hook learns which file a tool changes, and the call has the same key in the output.
func TestHookSeesChangedFiles(t *testing.T) {
	everyAgent(t, func(r *rig) {
		path := filepath.Join(r.launch.Target, "new.txt")
		write := map[string]mockmodel.Step{
			agent.Claude: {Tool: "Write", Arguments: map[string]any{"file_path": path, "content": "x"}},
			agent.Gemini: {Tool: "write_file", Arguments: map[string]any{"file_path": path, "content": "x"}},
			agent.Codex: {
				Tool:      "exec",
				Arguments: "text(await tools.apply_patch(`*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch`))",
			},
		}[r.name]
		r.steps(write)
		o := r.run(agent.Used{})
		judged, called := r.judged(), seen[agent.Called](o)
		if len(judged) == 0 || len(called) != 1 || !r.has("new.txt") {
			r.Fatalf("judged %+v, called %+v", judged, called)
		}
		call := judged[0].Call
		if call.Kind != agent.KindEdit || len(call.Paths) != 1 || filepath.Base(call.Paths[0]) != "new.txt" ||
			call.Key == "" || call.Key != called[0].Key {
			r.Errorf("judged %+v, called %+v", call, called[0])
		}
	})
}

// An agent commits in the name of its user.
func TestAgentsCommit(t *testing.T) {
	everyAgent(t, func(r *rig) {
		r.put("../home/.gitconfig", "[user]\nname = The User\nemail = user@example.com\n")
		r.steps(mockmodel.Shell("git init -q && git commit -q --allow-empty -m x && git log --format=%an > author.txt"))
		r.run(agent.Used{})
		author, err := os.ReadFile(filepath.Join(r.launch.Target, "author.txt"))
		if err != nil || strings.TrimSpace(string(author)) != "The User" {
			r.Errorf("the author is %q, %v", author, err)
		}
	})
}

//go:build agents

package agents_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"maestro/internal/testing/mockmodel"
)

var maestro = flag.String("maestro", "", "the binary under test")

// fleet is a server in a home of its own, and its user.
type fleet struct {
	*testing.T
	home string
}

// start starts a server, which ends with the test.
func start(t *testing.T) fleet {
	f := fleet{t, filepath.Join(t.TempDir(), "home")}
	serve := f.command("serve", "--listen", "127.0.0.1:0", "--no-runner") // the test is the launcher
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "listening on") {
		t.Fatalf("the server says %q: %v", line, err)
	}
	return f
}

func (f fleet) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.Context(), *maestro, args...)
	cmd.Env = []string{"MAESTRO_HOME=" + f.home, "HOME=" + filepath.Dir(f.home), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// user runs a command of the user, and returns what it prints.
func (f fleet) user(args ...string) string {
	f.Helper()
	cmd := f.command(args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		f.Fatalf("maestro %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A worker that is a real agent works through a whole session over MCP alone: it has no other tools.
func TestClaudeWorksOverMCPAlone(t *testing.T) {
	f := start(t)
	project := f.user("project", "create", "Shop", "-q")
	task := f.user("task", "create", "Paint the door", "--project", project, "-q")
	other := f.user("task", "create", "Not yours", "--project", project, "-q")
	var spawned struct {
		Data struct {
			SessionID string            `json:"sessionId"`
			Env       map[string]string `json:"env"`
		} `json:"data"`
	}
	said := f.user("session", "spawn", "--project", project, "--task-ids", task, "-o", "json")
	if err := json.Unmarshal([]byte(said), &spawned); err != nil {
		t.Fatal(err)
	}
	session := spawned.Data.SessionID

	var mu sync.Mutex
	var offered []string
	var got []mockmodel.Result
	answered := sync.OnceFunc(func() { f.user("input", "answer", f.question(), "blue") })
	script := func(tools []string, results []mockmodel.Result) mockmodel.Step {
		mu.Lock()
		defer mu.Unlock()
		offered, got = tools, results
		return next(task, other, results, answered)
	}
	model := httptest.NewServer(mockmodel.Anthropic(script))
	defer model.Close()

	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"maestro": map[string]any{"command": *maestro, "args": []string{"mcp"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), filepath.Join(*clis, "claude"),
		"--print", "--dangerously-skip-permissions",
		"--strict-mcp-config", "--mcp-config", config, "--setting-sources", "", "--tools", "",
		"--output-format", "stream-json", "--verbose")
	agent.Dir, agent.Stdin = dir, strings.NewReader("Work on your task.")
	agent.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "claude"),
		"ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=mock", "IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false",
	}
	for name, value := range spawned.Data.Env { // which the agent passes on
		agent.Env = append(agent.Env, name+"="+value)
	}
	agent.Env = append(agent.Env, "MAESTRO_HOME="+f.home)
	out, err := agent.CombinedOutput()
	if err != nil {
		t.Fatalf("the agent: %v\n%s", err, out)
	}

	mu.Lock()
	defer mu.Unlock()
	for _, tool := range offered {
		if !strings.HasPrefix(tool, "mcp__maestro__") {
			t.Errorf("the agent has the tool %s, which is not Maestro's", tool)
		}
	}
	if slices.Contains(offered, "mcp__maestro__task_complete") || len(offered) == 0 {
		t.Errorf("a worker is offered %q", offered)
	}
	for _, result := range got {
		t.Logf("failed %t: %s", result.Failed, result.Text)
	}
	refused := slices.IndexFunc(got, func(r mockmodel.Result) bool { return r.Failed })
	switch {
	case refused < 0 || !strings.HasPrefix(got[refused].Text, "NOT_ALLOWED: ") ||
		!strings.Contains(got[refused].Text, "\nwhy: ") || alternative.FindString(got[refused].Text) == "":
		t.Errorf("the model read no refusal with an alternative: %+v\n%s", got, out)
	case slices.ContainsFunc(got[refused+1:], func(r mockmodel.Result) bool { return r.Failed }):
		t.Errorf("what it did instead failed: %+v", got[refused+1:])
	case !strings.Contains(got[refused+1].Text, `"message":"I take what is mine"`) ||
		!strings.Contains(got[refused+1].Text, `"taskIds":["`+task+`"]`):
		t.Errorf("it did not do what the refusal said: %+v", got[refused+1])
	}
	if !slices.ContainsFunc(got, func(r mockmodel.Result) bool { return strings.Contains(r.Text, "blue") }) {
		t.Errorf("the model read no answer: %+v\n%s", got, out)
	}

	events := f.user("events", "--aggregate", "session/"+session, "-o", "jsonl")
	for _, want := range []string{
		"maestro.session.spawned.v1", `"kind":"progress"`, `"kind":"needs-input"`, `"kind":"complete"`,
		"maestro.session.completed.v1",
	} {
		if !strings.Contains(events, want) {
			t.Errorf("the log has no %s:\n%s", want, events)
		}
	}
	if info := f.user("session", "info", session); !strings.Contains(info, "completed") {
		t.Errorf("the session is not completed:\n%s", info)
	}
	f.user("audit", "verify")
}

// question returns the one open question.
func (f fleet) question() string {
	f.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(f.user("input", "list", "-o", "json")), &list); err != nil || len(list.Data) != 1 {
		f.Errorf("the questions are %+v: %v", list, err)
		return ""
	}
	return list.Data[0].ID
}

// alternative is what the refusal of a report on another's task says to do instead.
var alternative = regexp.MustCompile(`\nnext: name one of your tasks: (task_\w+)`)

// next is the script of a worker.
func next(task, other string, results []mockmodel.Result, answer func()) mockmodel.Step {
	call := func(tool string, arguments map[string]any) mockmodel.Step {
		return mockmodel.Step{Tool: "mcp__maestro__" + tool, Arguments: arguments}
	}
	before := []mockmodel.Step{
		call("whoami", map[string]any{}),
		call("task_get", map[string]any{"taskId": task}),
		call("report_progress", map[string]any{"message": "I look at the door", "taskIds": []string{task}}),
		call("report_needs_input", map[string]any{"message": "Which colour?"}),
	}
	after := []mockmodel.Step{
		call("report_progress", map[string]any{"message": "I take another's", "taskIds": []string{other}}),
		{}, // what the refusal says
		call("report_complete", map[string]any{"message": "The door is blue", "taskIds": []string{task}}),
		call("session_complete", map[string]any{}),
		{Text: "Done."},
	}
	if len(results) < len(before) {
		return before[len(results)]
	}
	if len(results) == len(before) {
		go answer() // while the agent waits
		return call("input_wait", map[string]any{})
	}
	// It waits until the answer is there, and confirms it.
	for i, result := range results[len(before):] {
		if !strings.Contains(result.Text, `"answer"`) && !strings.Contains(result.Text, "blue") {
			continue
		}
		rest := results[len(before)+i+1:]
		if len(rest) == 0 {
			var box struct {
				Mail []struct {
					ID string `json:"id"`
				} `json:"mail"`
			}
			if json.NewDecoder(strings.NewReader(result.Text)).Decode(&box) != nil || len(box.Mail) == 0 {
				return mockmodel.Step{Text: "The mail cannot be read: " + result.Text}
			}
			return call("input_received", map[string]any{"inputId": box.Mail[0].ID})
		}
		if len(rest) == 2 {
			named := alternative.FindStringSubmatch(rest[1].Text)
			if named == nil {
				return mockmodel.Step{Text: "The refusal names no alternative: " + rest[1].Text}
			}
			return call("report_progress", map[string]any{
				"message": "I take what is mine", "taskIds": []string{named[1]},
			})
		}
		return after[min(len(rest)-1, len(after)-1)]
	}
	return call("input_wait", map[string]any{})
}

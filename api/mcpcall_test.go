package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/service/wire"
)

// accept is what the protocol requires of a client.
const accept = "application/json, text/event-stream"

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// withBatches names a version of the protocol that has batches.
var withBatches = []string{"Mcp-Protocol-Version", "2025-03-26"}

// callOf is a message that calls a tool.
func callOf(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments +
		`}}`
}

// A refusal says what, why and what to do instead: as a command line, and as a tool. It is recorded like any other.
func TestRefusedToolNamesAnother(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	_, token := w.session(adminToken, project, task, ``)
	texts, failed := tool(t, w.model(token), "task_complete", map[string]any{"taskId": task})
	for _, want := range []string{
		"NOT_ALLOWED: Command 'task:complete' is not allowed for worker", "\nwhy: ",
		"\nnext: use `maestro report complete", "\nas a tool: report_complete",
	} {
		if !failed || !strings.Contains(texts[0], want) {
			t.Errorf("the refusal has no %q: %q", want, texts)
		}
	}
	if denials := w.send(http.MethodGet, "/api/audit/denials", adminToken, ""); !bytes.Contains(denials.body,
		[]byte("task:complete")) {
		t.Errorf("the refusal is not recorded: %s", denials.body)
	}
}

// An argument that cannot be used is named. A caller that may not use the tool at all is told that first.
func TestWrongArgumentsAreNamed(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	_, worker := w.session(adminToken, project, w.task(project), ``)
	for _, c := range []struct {
		token, tool string
		arguments   map[string]any
		want        string
	}{
		{adminToken, "task_create", map[string]any{"titel": "x"}, "titel"},
		{adminToken, "task_create", map[string]any{"project": project, "title": 1}, "argument: title"},
		{adminToken, "task_get", nil, "argument: taskId"},
		{adminToken, "task_get", map[string]any{"taskId": map[string]any{}}, "argument: taskId"},
		{adminToken, "task_get", map[string]any{"id": "task_1"}, "argument: id"},
		{adminToken, "task_get", map[string]any{"taskId": ".."}, "argument: taskId"},
		{adminToken, "task_get", map[string]any{"taskId": "../sessions"}, "NOT_FOUND"},
		{adminToken, "task_create", map[string]any{"dryRun": "perhaps", "title": "x"}, "VALIDATION_ERROR"},
		{adminToken, "queue_list", map[string]any{"queue": "q", "sessionId": "s"}, "does not go with"},
		{worker, "project_get", map[string]any{"wrong": true}, "NOT_ALLOWED"},
	} {
		texts, failed := tool(t, w.model(c.token), c.tool, c.arguments)
		if !failed || !strings.Contains(texts[0], c.want) || !strings.Contains(texts[0], "\nnext: ") {
			t.Errorf("%s %v: %q does not name %q", c.tool, c.arguments, texts, c.want)
		}
	}
	_, err := w.model(worker).CallTool(t.Context(), &sdk.CallToolParams{Name: "task_gett"})
	if err == nil || !strings.Contains(err.Error(), "did you mean task_get?") {
		t.Errorf("an unknown tool: %v", err)
	}
}

// Each call has a key of its own, unless it brings one. Whoever passes a call on may bring one beside the arguments.
func TestToolCallsAreIdempotent(t *testing.T) {
	w := open(t, nil)
	model := w.model(adminToken)
	title := map[string]any{"project": w.project(), "title": "x"}
	before := w.log.head()
	tool(t, model, "task_create", title)
	tool(t, model, "task_create", title)
	if got := w.log.head() - before; got != 2 {
		t.Errorf("two calls are %d events", got)
	}
	title["idempotencyKey"] = "once"
	for range 2 {
		if texts, failed := tool(t, model, "task_create", title); failed {
			t.Error(texts)
		}
	}
	delete(title, "idempotencyKey")
	for range 2 {
		if _, err := model.CallTool(t.Context(), &sdk.CallToolParams{
			Meta: sdk.Meta{wire.MCPKey: "twice"}, Name: "task_create", Arguments: title,
		}); err != nil {
			t.Error(err)
		}
	}
	title["dryRun"] = true
	tool(t, model, "task_create", title)
	if got := w.log.head() - before; got != 4 {
		t.Errorf("calls with two keys, and a dry run, are %d events after the first two", got-2)
	}
}

// Unread mail comes with the result of any tool, until it is confirmed. A session ends only after that.
func TestMailComesWithResults(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	model := w.model(token)
	if texts, _ := tool(t, model, "worker_init", nil); len(texts) != 1 || !strings.Contains(texts[0], `"sequence"`) {
		t.Errorf("worker_init without a digest: %q", texts)
	}
	texts, _ := tool(t, model, "report_needs_input", map[string]any{"message": "Which?"})
	again, _ := tool(t, model, "report_needs_input", map[string]any{"message": "Which?"})
	if !strings.Contains(again[0], `"asked"`) {
		t.Errorf("a question that waits is asked again: %q", again)
	}
	var asked struct {
		Event struct {
			Data struct {
				InputID string `json:"inputId"`
			} `json:"data"`
		} `json:"event"`
	}
	if err := json.Unmarshal([]byte(texts[0]), &asked); err != nil {
		t.Fatal(err)
	}
	question := asked.Event.Data.InputID
	done := make(chan []string)
	go func() {
		result, err := model.CallTool(t.Context(), &sdk.CallToolParams{Name: "input_wait"})
		if err != nil {
			done <- []string{err.Error()}
			return
		}
		text, _ := result.Content[0].(*sdk.TextContent)
		done <- []string{text.Text}
	}()
	w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"blue"}`).is(200)
	if got := <-done; !strings.Contains(got[0], "blue") {
		t.Errorf("input_wait answers %q", got)
	}
	if texts, _ := tool(t, model, "whoami", nil); len(texts) != 2 || !strings.Contains(texts[1], "blue") ||
		!strings.Contains(texts[1], "input_received") {
		t.Errorf("mail does not come with a result: %q", texts)
	}
	if texts, failed := tool(t, model, "session_complete", nil); !failed {
		t.Errorf("the session ends with unread mail: %q", texts)
	}
	tool(t, model, "input_received", map[string]any{"inputId": question})
	if texts, _ := tool(t, model, "whoami", nil); len(texts) != 1 {
		t.Errorf("confirmed mail comes again: %q", texts)
	}
	if texts, failed := tool(t, model, "session_complete", nil); failed {
		t.Errorf("the session does not end: %q", texts)
	}
	if got := w.send(http.MethodGet, "/api/sessions/"+id, adminToken, ""); got.text("status") != "completed" {
		t.Errorf("the session has not ended: %s", got.body)
	}
}

// A message that cannot be read, or that nobody may send, is refused, and the next one is answered.
func TestMCPRefusesWhatIsNoMessage(t *testing.T) {
	w := open(t, nil)
	for _, c := range []struct {
		name, method, token, body string
		header                    []string
		status                    int
	}{
		{"nobody", http.MethodPost, "", ping, nil, 401},
		{"a wrong token", http.MethodPost, "mst_wrong", ping, nil, 401},
		{"another host", http.MethodPost, adminToken, ping, []string{"Host", "evil.example"}, 403},
		{"another origin", http.MethodPost, adminToken, ping, []string{"Origin", "https://evil.example"}, 403},
		{"no JSON", http.MethodPost, adminToken, `{"jsonrpc`, nil, 400},
		{"no message", http.MethodPost, adminToken, `[]`, nil, 400},
		{"a batch", http.MethodPost, adminToken, `[` + ping + `]`, withBatches, 400},
		{"a batch behind spaces", http.MethodPost, adminToken, " \t\r\n[" + ping + "," + ping + "]", withBatches, 400},
		{"an older version", http.MethodPost, adminToken, ping, withBatches, 200},
		{"too long", http.MethodPost, adminToken, `"` + strings.Repeat("x", 1<<20) + `"`, nil, 413},
		{"a form", http.MethodPost, adminToken, ping, []string{"Content-Type", "text/plain"}, 415},
		{"an old version", http.MethodPost, adminToken, ping, []string{"Mcp-Protocol-Version", "2020-01-01"}, 400},
		{"a stream", http.MethodGet, adminToken, "", nil, 405},
		{"the end of a session", http.MethodDelete, adminToken, "", nil, 405},
		{"a session of another", http.MethodPost, adminToken, ping, []string{"Mcp-Session-Id", "guessed"}, 200},
	} {
		header := append([]string{"Accept", accept}, c.header...)
		r := w.send(c.method, wire.MCPPath, c.token, c.body, header...)
		if r.status != c.status || r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
		after := w.send(http.MethodPost, wire.MCPPath, adminToken, ping, "Accept", accept)
		if after.status != http.StatusOK || !bytes.Contains(after.body, []byte(`"result":{}`)) {
			t.Fatalf("after %s: %d %s", c.name, after.status, after.body)
		}
	}
}

// A body that is no message gets an error of JSON-RPC, not the words of a library.
func TestMCPNamesWhatIsNoMessage(t *testing.T) {
	w := open(t, nil)
	for body, code := range map[string]string{
		`{"jsonrpc`:                        "-32700",
		ping + "x":                         "-32700",
		`"ping"`:                           "-32600",
		`{"id":1,"method":"ping"}`:         "-32600",
		`{"jsonrpc":"2.0","id":1}`:         "-32600",
		`{"jsonrpc":2,"method":"ping"}`:    "-32600",
		`{"jsonrpc":"2.0","method":["x"]}`: "-32600",
	} {
		r := w.send(http.MethodPost, wire.MCPPath, adminToken, body, "Accept", accept).is(400)
		want := `{"jsonrpc":"2.0","id":null,"error":{"code":` + code + `,"message":"`
		if got := string(r.body); !strings.HasPrefix(got, want) ||
			!strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// The next list shows what a caller may use now, and a credential that ended may do nothing.
func TestToolsFollowPermissions(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	model := w.model(token)
	before := toolNames(t, model)
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	if after := toolNames(t, model); len(after) >= len(before) {
		t.Errorf("a killed session has the tools %q", after)
	}
	reader := w.token("reader", "read-only", project)
	read := w.model(reader)
	w.do(adminToken, "token:revoke", `{"name":"reader"}`).is(200)
	if list, err := read.ListTools(t.Context(), nil); err == nil {
		t.Errorf("a revoked token lists %v", list.Tools)
	}
}

// An answer that a model cannot read is refused, and nothing of it is shown.
func TestToolAnswersAreBounded(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	text := strings.Repeat("x", 60<<10)
	for range 80 {
		w.do(adminToken, "task:create", `{"project":"`+project+`","title":"x","description":"`+text+`"}`).is(200)
	}
	texts, failed := tool(t, w.model(adminToken), "task_list", nil)
	if !failed || len(texts) != 1 || !strings.HasPrefix(texts[0], "TOO_LARGE: ") {
		t.Errorf("a list of 5 MB: %t, %d bytes", failed, len(texts[0]))
	}
}

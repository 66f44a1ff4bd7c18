package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"maestro/internal/lazyregexp"
	"maestro/internal/oracle"
	"maestro/internal/testing/race"
	"maestro/service/wire"
)

// bearer sends a credential with every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// model is an MCP client of the SDK.
func (w *world) model(token string) *sdk.ClientSession {
	w.Helper()
	transport := w.client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(w.Context(),
		&sdk.StreamableClientTransport{
			Endpoint:             w.url + wire.MCPPath,
			HTTPClient:           &http.Client{Transport: bearer{token, transport}},
			DisableStandaloneSSE: true,
			MaxRetries:           -1,
		}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = session.Close() })
	return session
}

// tool calls a tool, and returns its texts and whether they are an error.
func tool(t *testing.T, s *sdk.ClientSession, name string, arguments any) (texts []string, failed bool) {
	t.Helper()
	result, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, content := range result.Content {
		text, ok := content.(*sdk.TextContent)
		if !ok {
			t.Fatalf("%s: the result has a %T", name, content)
		}
		texts = append(texts, text.Text)
	}
	return texts, result.IsError
}

func toolNames(t *testing.T, s *sdk.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if list.CacheScope != "private" || list.TTLMs != 0 {
		t.Errorf("the list may be kept: %q, %d ms", list.CacheScope, list.TTLMs)
	}
	names := make([]string, len(list.Tools))
	for i, x := range list.Tools {
		names[i] = x.Name
	}
	return names
}

// living are the columns whose credential is valid.
const living = "WQTOUEFZNARXVP"

// The tools of every caller are exactly its allowed commands.
func TestToolsAreTheAllowedCommands(t *testing.T) {
	w := open(t, nil)
	for _, column := range living {
		s := w.stage(column)
		var own wire.AllowedCommands
		body := w.send(http.MethodGet, "/api/commands", s.token, "")
		if body.status == http.StatusOK {
			if err := json.Unmarshal(body.body, &own); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for _, id := range own.AllowedCommands {
			want = append(want, wire.ToolOf(id))
		}
		if got := toolNames(t, w.model(s.token)); len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%c has the tools\n%q, and may use\n%q", column, got, want)
		}
	}
}

// Every command of the table has one tool, whose name every model accepts.
func TestToolNames(t *testing.T) {
	named := map[string]string{}
	for _, row := range oracle.Table() {
		name := wire.ToolOf(row.ID)
		if len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" || named[name] != "" {
			t.Errorf("%s is called %s, as %q", row.ID, name, named[name])
		}
		named[name] = row.ID
	}
}

// accepts checks a tool's arguments against its schema.
func accepts(t *testing.T, s *sdk.ClientSession, name string, arguments any) error {
	t.Helper()
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list.Tools, func(x *sdk.Tool) bool { return x.Name == name })
	if at < 0 {
		return nil // not offered
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("tool.json", list.Tools[at].InputSchema); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	schema, err := compiler.Compile("tool.json")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schema.Validate(arguments)
}

// Each command has the same outcome as a tool and over its route, for every caller: an event, or a refusal for the same
// reason. The schema of a tool accepts what the route accepts.
func TestToolsDecideAsTheRoutes(t *testing.T) {
	t.Parallel()
	for _, row := range writes[:race.Part(len(writes))] {
		if strings.HasPrefix(row.id, "task:report:") || strings.Contains(tableRow(row.id).Who, "S") {
			continue // another name of a tool; and the system's, which are no tools
		}
		t.Run(row.id, func(t *testing.T) {
			t.Parallel()
			w := openInside(t, nil)
			for _, column := range living {
				one := w.stage(column)
				w.before(row, one)
				native := w.do(one.token, row.id, one.names.Replace(row.body), wire.HeaderClient, "test")
				other := w.stage(column) // only now: a webhook is both's
				w.before(row, other)
				model := w.model(other.token)
				var arguments map[string]any
				if err := json.Unmarshal([]byte(other.names.Replace(row.body)), &arguments); err != nil {
					t.Fatal(err)
				}
				for id, name := range map[string]string{
					"session:complete": "ifFinished", "report:complete": "ifFinished", "report:needs-input": "ifNew",
				} {
					if id == row.id { // the route alone does not know them
						arguments[name] = false
					}
				}
				if err := accepts(t, model, wire.ToolOf(row.id), arguments); err != nil {
					t.Errorf("%c: the schema refuses %v: %v", column, arguments, err)
				}
				texts, failed := tool(t, model, wire.ToolOf(row.id), arguments)
				if native.status == http.StatusOK {
					var said wire.Done
					if err := json.Unmarshal([]byte(texts[0]), &said); failed || err != nil {
						t.Errorf("%c: the tool answers %q, the route %s", column, texts, native.body)
					}
					if got, want := typeOf(t, said.Event), native.at("event"); (got != "") != (want != nil) ||
						got != "" && got != native.text("event", "type") {
						t.Errorf("%c: the tool became %q, the route %s", column, got, native.body)
					}
					continue
				}
				if !failed || !strings.HasPrefix(texts[0], native.text("code")+": ") ||
					!strings.Contains(texts[0], "\nwhy: ") || !strings.Contains(texts[0], "\nnext: ") {
					t.Errorf("%c: the tool answers %q, the route %s", column, texts, native.body)
				}
			}
		})
	}
}

func typeOf(t *testing.T, event json.RawMessage) string {
	t.Helper()
	if len(event) == 0 || string(event) == "null" {
		return ""
	}
	var of struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(event, &of); err != nil {
		t.Fatal(err)
	}
	return of.Type
}

// waited are the parts of an answer that depend on when it was asked for.
var waited = lazyregexp.New(`"(waited|lastUsedAt)":\d+`)

// A resource has the bytes of its route, and who may not read the route may not read the resource.
func TestResourcesReadAsTheRoutes(t *testing.T) {
	w := open(t, func(c *setup) { c.Backup = noBackup })
	for _, column := range living {
		s := w.stage(column)
		model := w.model(s.token)
		for _, row := range reads {
			path := s.names.Replace(row.path)
			uri := "maestro://" + strings.TrimPrefix(path, "/api/")
			got, err := model.ReadResource(w.Context(), &sdk.ReadResourceParams{URI: uri})
			native := w.send(http.MethodGet, path, s.token, "", wire.HeaderClient, "test")
			if strings.HasSuffix(path, "/backup") || strings.HasSuffix(path, "/export") ||
				strings.HasSuffix(path, "/queue/items") || strings.HasSuffix(path, "/secret") { // no resources
				if err == nil {
					t.Errorf("%s can be read", uri)
				}
				continue
			}
			switch {
			case native.status != http.StatusOK:
				if err == nil || !strings.Contains(err.Error(), native.text("message")) {
					t.Errorf("%s by %c: %v; the route says %s", uri, column, err, native.body)
				}
			case err != nil:
				t.Errorf("%s by %c: %v; the route says %s", uri, column, err, native.body)
			case waited().ReplaceAllString(got.Contents[0].Text, "") !=
				waited().ReplaceAllString(string(native.body), ""):
				t.Errorf("%s by %c:\n%s\nthe route says\n%s", uri, column, got.Contents[0].Text, native.body)
			}
		}
	}
}

// Every resource that is listed for a caller can be read by it.
func TestListedResourcesCanBeRead(t *testing.T) {
	w := open(t, nil)
	for _, column := range living {
		model := w.model(w.stage(column).token)
		list, err := model.ListResources(w.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Resources {
			if _, err := model.ReadResource(w.Context(), &sdk.ReadResourceParams{URI: r.URI}); err != nil &&
				!strings.Contains(err.Error(), "VALIDATION_ERROR") { // audit/can needs to be asked about somebody
				t.Errorf("%s is listed for %c: %v", r.URI, column, err)
			}
		}
		if len(list.Resources) < 2 {
			t.Errorf("%c has the resources %v", column, list.Resources)
		}
		for _, x := range list.Resources {
			if strings.Contains(x.URI, "credential") || strings.Contains(x.URI, "secret") {
				t.Errorf("a secret is a resource: %s", x.URI)
			}
		}
	}
}

package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"maestro/api"
	"maestro/api/openapi"
	"maestro/commands"
)

// The description of the API needs no token, tells a client that has it so, and lets a browser load its style only.
func TestDescriptionIsPublished(t *testing.T) {
	w := open(t, nil)
	for path, want := range map[string]struct{ kind, body string }{
		"/api/openapi.json":   {"application/json", string(openapi.Document)},
		"/api/docs":           {"text/html; charset=utf-8", string(openapi.Page)},
		"/api/docs/style.css": {"text/css; charset=utf-8", string(openapi.Style)},
	} {
		r := w.send(http.MethodGet, path, "", "").is(200)
		if string(r.body) != want.body || r.header.Get("Content-Type") != want.kind {
			t.Errorf("%s: %s, %.80s", path, r.header.Get("Content-Type"), r.body)
		}
		tag := r.header.Get("ETag")
		again := w.send(http.MethodGet, path, "", "", "If-None-Match", tag).is(304)
		if tag == "" || len(again.body) > 0 || r.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: tag %q, then %d bytes, %s", path, tag, len(again.body), r.header.Get("Cache-Control"))
		}
		if head := w.send(http.MethodHead, path, "", "").is(200); head.header.Get("ETag") != tag {
			t.Errorf("HEAD %s: tag %q", path, head.header.Get("ETag"))
		}
		w.send(http.MethodPost, path, "", "").is(401)
		w.send(http.MethodPost, path, adminToken, "").is(405)
		w.send(http.MethodGet, path, "", "", "Host", "evil.example").is(403)
		w.send(http.MethodGet, path, "", "", "Origin", "http://evil.example").is(403)
	}
	w.send(http.MethodGet, "/api/docs/other", "", "").is(401)
	policy := w.send(http.MethodGet, "/api/docs", "", "").header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") || strings.Contains(policy, "unsafe") ||
		strings.Contains(policy, "script-src") {
		t.Errorf("the policy of the page is %q", policy)
	}
}

// The page works under its policy: it has no script, no style of its own, and loads nothing from elsewhere. Each link
// within it leads somewhere.
func TestPageStandsAlone(t *testing.T) {
	page := string(openapi.Page)
	for _, foreign := range []string{
		"<script", "<style", "style=", "javascript:", "<img", "<iframe", "url(", "@import",
	} {
		if strings.Contains(page, foreign) || strings.Contains(string(openapi.Style), foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
	for _, loaded := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		target, local := strings.CutPrefix(loaded[1], "#")
		switch {
		case !local && target != "/api/openapi.json" && target != "/api/docs/style.css":
			t.Errorf("the page refers to %s", target)
		case local && !strings.Contains(page, `id="`+target+`"`):
			t.Errorf("nothing on the page has the id %s", target)
		}
	}
}

// operations returns the operations of the document, as "METHOD path".
func operations(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for path, item := range published().whole["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			all[strings.ToUpper(method)+" "+path] = operation.(map[string]any)
		}
	}
	return all
}

// Every route has an operation, with a name that is a function's, and nothing else has one.
func TestEveryRouteHasAnOperation(t *testing.T) {
	documented := operations(t)
	names := map[string]string{}
	isName := regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	for route, operation := range documented {
		name, _ := operation["operationId"].(string)
		if !isName.MatchString(name) || names[name] != "" {
			t.Errorf("%s is named %q, as is %q", route, name, names[name])
		}
		names[name] = route
		if summary, _ := operation["summary"].(string); summary == "" {
			t.Errorf("%s has no summary", route)
		}
		parameters, _ := operation["parameters"].([]any)
		for _, p := range parameters {
			if p := p.(map[string]any); p["$ref"] == nil && p["description"] == nil {
				t.Errorf("%s: %v is not described", route, p["name"])
			}
		}
	}
	native, compat := api.Routes()
	var routes []string
	for _, r := range slices.Concat(native, compat) {
		if r.Path != "/api/commands/{id}" || r.Method == http.MethodGet {
			routes = append(routes, r.Method+" "+strings.NewReplacer("...}", "}", "{$}", "").Replace(r.Path))
		}
	}
	// One operation for each command that somebody can send. The system's have no credential.
	for _, row := range commands.CurrentRules().Rows() {
		if row.Write && !row.Planned && row.Who != commands.RoleSystem {
			routes = append(routes, "POST /api/commands/"+row.ID)
		}
	}
	for _, route := range routes {
		if documented[route] == nil {
			t.Errorf("%s has no operation", route)
		}
		delete(documented, route)
	}
	for route := range documented {
		t.Errorf("%s is no route", route)
	}
}

// Nothing in the document may be anything at all, unless its description says so.
func TestEverySchemaSaysWhatItIs(t *testing.T) {
	var walk func(at string, schema map[string]any)
	walk = func(at string, schema map[string]any) {
		says := false
		for _, name := range []string{"type", "$ref", "oneOf", "allOf", "anyOf", "enum", "const"} {
			says = says || schema[name] != nil
		}
		if !says {
			t.Errorf("%s may be anything", at)
		}
		for _, name := range []string{"items", "additionalProperties"} {
			if inner, ok := schema[name].(map[string]any); ok {
				walk(at+"/"+name, inner)
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			walk(at+"."+name, property.(map[string]any))
		}
	}
	schemas, _ := published().at("components", "schemas")
	if len(schemas) < 200 {
		t.Errorf("only %d schemas", len(schemas))
	}
	for name, schema := range schemas {
		walk(name, schema.(map[string]any))
	}
}

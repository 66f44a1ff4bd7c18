package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestEveryRouteDocumentsItself keeps the API's document complete, although no route publishes it yet.
func TestEveryRouteDocumentsItself(t *testing.T) {
	s := &server{mux: http.NewServeMux()}
	s.routes()
	document := documentOf(s.table)
	if _, err := json.Marshal(document); err != nil {
		t.Fatal(err)
	}
	if len(document.Paths) == 0 {
		t.Error("no paths")
	}
	for path, item := range document.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if operation == nil {
				continue
			}
			if operation.Summary == "" || operation.OperationID == "" {
				t.Errorf("%s %s has no description", operation.Method, path)
			}
			for _, parameter := range operation.Parameters {
				if parameter.In == "query" && parameter.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", operation.Method, path, parameter.Name)
				}
			}
		}
	}
}

// Our own clients write only through POST /api/commands/<id>: every documented route that writes is for older clients.
func TestNativeRoutesOnlyRead(t *testing.T) {
	s := &server{mux: http.NewServeMux()}
	s.nativeRoutes()
	for _, r := range s.table.Routes {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: a route of older clients belongs in api/compat", r.Method, r.Path)
		}
	}
}

// The summaries of routes say what a route does in the words of the commands: create, update, link.
func TestSummariesUseTheWordsOfCommands(t *testing.T) {
	native, compat := Routes()
	for _, route := range append(native, compat...) {
		for _, word := range []string{"Make ", "Give ", "Put ", "Take ", "Do ", "Order ", "in hand", "All that "} {
			if strings.Contains(route.Summary, word) {
				t.Errorf("%s %s: %s", route.Method, route.Path, route.Summary)
			}
		}
	}
}

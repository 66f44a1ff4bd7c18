package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"maestro/service/wire"
)

// A process of clients does the work of its first line: it makes its calls, or lists page after page until its stdin
// ends, and says when each of its clients reads.
func TestClients(t *testing.T) {
	var mu sync.Mutex
	keys, cursors := map[string]int{}, map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost {
			keys[r.Header.Get(wire.HeaderKey)]++
			return
		}
		cursor := r.URL.Query().Get("cursor")
		cursors[cursor]++
		if cursor == "" {
			w.Header().Set(wire.HeaderNext, "next=")
		}
	}))
	defer server.Close()
	for _, kind := range []string{workCalls, workInTurn, workPages} {
		for token, works := range map[string]bool{"good": true, "bad": false} {
			text, err := json.Marshal(clientsWork{
				Kind:          kind,
				URL:           server.URL + "/?limit=1",
				Authorization: "Bearer " + token,
				Key:           kind,
				Callers:       2,
				Calls:         10,
			})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = Clients(t.Context(), bytes.NewReader(append(text, '\n')), &out)
			if (err == nil) != works {
				t.Fatalf("%s as %s: %v", kind, token, err)
			}
			lines := strings.Fields(out.String())
			if kind == workPages && works {
				if lines[0] != "reading" {
					t.Errorf("it said %q", lines)
				}
				lines = lines[1:]
			}
			if !works {
				continue
			}
			if figure, err := strconv.ParseFloat(strings.Join(lines, " "), 64); err != nil || figure <= 0 {
				t.Errorf("%s: the figure is %q", kind, out.String())
			}
		}
	}
	server.Close() // a client that was ended left calls behind
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 20 {
		t.Errorf("the calls had %d different keys", len(keys))
	}
	if cursors[""] < 2 || cursors["next="] > cursors[""] || len(cursors) > 2 {
		t.Errorf("the pages are %v", cursors)
	}
	if err := Clients(t.Context(), strings.NewReader(`{"Kind":"other"}`+"\n"), io.Discard); err == nil {
		t.Error("unknown work was done")
	}
	if err := Clients(t.Context(), strings.NewReader(fmt.Sprintln("no work")), io.Discard); err == nil {
		t.Error("no work was done")
	}
}

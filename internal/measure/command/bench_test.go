package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/measure/benchmark"
	"maestro/service/wire"
)

// An invalid number of rounds is refused before anything is created.
func TestRoundsAreChecked(t *testing.T) {
	dir := t.TempDir()
	for _, rounds := range []int{-1, 0, 1001} {
		err := bench(t.Context(), &cli.Run{}, options{dir: dir, rounds: rounds})
		if err == nil || !strings.Contains(err.Error(), "--rounds") {
			t.Errorf("%d rounds: %v", rounds, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	err := bench(t.Context(), &cli.Run{}, options{dir: filepath.Join(dir, "none"), rounds: 1})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a missing directory: %v", err)
	}
}

// A figure that misses its goal is an error that names it, and with -o json one document holds all figures.
func TestMissedGoalsAreNamed(t *testing.T) {
	good, bad := benchmark.Check{Name: "good", OK: true}, benchmark.Check{Name: "bad"}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := &cli.Run{Printer: cli.Printer{Stdout: &out, JSON: asJSON}}
		if err := report(a, []benchmark.Check{good}); err != nil {
			t.Errorf("all goals are met: %v", err)
		}
		out.Reset()
		err := report(a, []benchmark.Check{good, bad, bad})
		var missed *failure.Error
		if !errors.As(err, &missed) || missed.Message != "Missed: bad, bad" || missed.Shown != asJSON {
			t.Errorf("JSON %t: %v", asJSON, err)
		}
		var document struct{ Checks []benchmark.Check }
		switch {
		case asJSON && (json.Unmarshal(out.Bytes(), &document) != nil || len(document.Checks) != 3):
			t.Errorf("the document is %s", out.String())
		case !asJSON && out.Len() > 0:
			t.Errorf("printed twice: %s", out.String())
		}
	}
}

// Only the benchmark's own arguments make the binary a baseline.
func TestBaseline(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {benchmark.EmptyRun, "more"}} {
		if _, ok := Baseline(args); ok {
			t.Errorf("%v is taken for a baseline", args)
		}
	}
	if code, ok := Baseline([]string{benchmark.EmptyRun}); !ok || code != 0 {
		t.Errorf("the empty run: %d, %t", code, ok)
	}
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		if strings.HasSuffix(asked, "bad") {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	t.Setenv(wire.EnvAPIURL, server.URL)
	for token, want := range map[string]int{"good": 0, "bad": 1} {
		t.Setenv(wire.EnvToken, token)
		code, ok := Baseline([]string{benchmark.OneHTTPCall})
		if !ok || code != want || asked != "POST /api/commands/report:progress Bearer "+token {
			t.Errorf("one call: %d, %t, asked for %q", code, ok, asked)
		}
	}
}

// The measured handler needs the same configuration as a server's, and knows the session of the benchmark.
func TestWholeAPIIsMeasured(t *testing.T) {
	if _, _, _, err := wholeAPI(nil, nil, "", "s"); err == nil {
		t.Error("a handler was created from nothing")
	}
}

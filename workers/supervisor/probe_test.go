package supervisor

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/workers/preflight"
)

// The probe of a hook passes only if the hook denies it, for the right reason.
func TestProbeHook(t *testing.T) {
	for name, test := range map[string]struct {
		line []string
		ok   bool
	}{
		"denies":             {[]string{"/bin/sh", "-c", "echo this is a probe >&2; exit 2"}, true},
		"denies without why": {[]string{"/bin/sh", "-c", "exit 2"}, false},
		"allows":             {[]string{"/bin/sh", "-c", "exit 0"}, false},
		"crashes":            {[]string{"/bin/sh", "-c", "exit 1"}, false},
		"is missing":         {[]string{"/nonexistent/maestro"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&supervisor{}).probeHook(t.Context(), test.line)
			var failed *preflight.Failure
			if test.ok && err != nil || !test.ok && (!errors.As(err, &failed) || failed.Check != preflight.CheckHook) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A program that is no hook fails the probe without a session too, and what it says is in the failure.
func TestProbeHookWithoutSession(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(t.TempDir(), "maestro")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho not a hook\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var failed *preflight.Failure
	if err := ProbeHook(t.Context(), program); !errors.As(err, &failed) || failed.Check != preflight.CheckHook ||
		!strings.Contains(failed.Message, "not a hook") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the probe left %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if err := ProbeHook(t.Context(), program); !errors.As(err, &failed) || !strings.Contains(failed.Fix, "TMPDIR") {
		t.Errorf("without a temporary directory: %v", err)
	}
}

// The judge denies the probe, and records nothing of it.
func TestProbeIsDenied(t *testing.T) {
	c := newCourse(t)
	j := &judge{decisions: c.d}
	w := httptest.NewRecorder()
	j.serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(probePayload)))
	if !strings.Contains(w.Body.String(), `"exitCode":2`) || !strings.Contains(w.Body.String(), "probe") {
		t.Errorf("answered %s", w.Body)
	}
	if c.log.Len() > 0 {
		t.Errorf("recorded %s", c.log.String())
	}
}

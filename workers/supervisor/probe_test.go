package supervisor

import (
	"errors"
	"net/http"
	"net/http/httptest"
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

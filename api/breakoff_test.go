package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that hangs up while it is sent something is no error of the server; any other break is.
func TestBreakOff(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	out := &counter{to: io.Discard}
	_, _ = out.Write([]byte("x"))
	if out.lost {
		t.Error("a client that takes what it is sent is lost")
	}
	cut := &counter{to: cutWriter{}}
	_, _ = cut.Write([]byte("x"))
	for name, c := range map[string]struct {
		ctx   context.Context //nolint:containedctx // of a request
		lost  bool
		level string
	}{
		"the store":           {t.Context(), out.lost, "ERROR"},
		"a client that left":  {gone, false, "DEBUG"},
		"a broken connection": {t.Context(), cut.lost, "DEBUG"},
	} {
		var logged bytes.Buffer
		s := bodiesServer(t)
		s.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r := httptest.NewRequestWithContext(c.ctx, http.MethodGet, "/api/audit/export", nil)
		func() {
			defer func() { _ = recover() }() // the connection ends
			s.breakOff(httptest.NewRecorder(), r, true, c.lost, errors.New("broken"))
		}()
		if !strings.Contains(logged.String(), "level="+c.level) {
			t.Errorf("%s is logged as %q, want %s", name, logged.String(), c.level)
		}
	}
}

// cutWriter is a connection that is broken.
type cutWriter struct{}

func (cutWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"maestro/commands"
)

// requestLog logs each request with its answer: method, route, status, duration and number. It logs no credential, no
// body and no query, and of the path only the route.
type requestLog struct {
	*server
	logger *slog.Logger
	last   atomic.Uint64
}

// headerRequest is the header of the answer with the request's number in the log.
const headerRequest = "X-Request-Id"

// logged returns the handler of a server: one that logs requests if the log shows debug messages.
func logged(s *server, logger *slog.Logger) http.Handler {
	if logger == nil || !logger.Enabled(context.Background(), slog.LevelDebug) {
		return s
	}
	return &requestLog{server: s, logger: logger}
}

// ServeHTTP implements http.Handler.
func (l *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strconv.FormatUint(l.last.Add(1), 10)
	w.Header()[headerRequest] = []string{id}
	began := time.Now()
	out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	method, route := l.routeOf(r)
	defer func() { // even if the answer breaks off
		l.logger.Debug("request", "id", id, "method", method, "route", route, "status", out.status,
			"took", time.Since(began).Round(time.Microsecond))
	}()
	l.server.ServeHTTP(out, r)
}

// routeOf returns a request's method, and its route without ids; words that no route has are not shown.
func (l *requestLog) routeOf(r *http.Request) (method, route string) {
	const other = "other"
	probe := *r
	_, pattern := l.mux.Handler(&probe)
	if id, ok := strings.CutPrefix(r.URL.Path, commandsPath); ok && r.Method == http.MethodPost {
		if _, known := commands.CurrentRules().Row(id); !known {
			return r.Method, commandsPath + "{id}"
		}
		return r.Method, r.URL.Path
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == manifestsPath:
		return r.Method, manifestsPath
	case pattern == "" || pattern == "/":
		return other, other
	}
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	return r.Method, pattern
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the connection's writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

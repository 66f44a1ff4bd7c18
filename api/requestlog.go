package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"maestro/api/compat"
	"maestro/commands"
	"maestro/service/wire"
)

// requests gives each request an id, measures it, and at level debug logs it with its answer: method, route, status,
// duration and id. It logs no credential, no body and no query, and of the path only the route.
type requests struct {
	*server

	logger *slog.Logger
	// begin is the beginning of the ids that this process makes, so that no two processes make the same.
	begin string
	last  atomic.Uint64
}

// longestRequestID bounds an id that the caller chose.
const longestRequestID = 64

// identified returns the handler of a server.
func identified(s *server) http.Handler {
	const begin = 8
	x := &requests{server: s, begin: strings.ToLower(rand.Text()[:begin]) + "-"}
	if s.Logger.Enabled(context.Background(), slog.LevelDebug) {
		x.logger = s.Logger
	}
	return x
}

// ServeHTTP implements http.Handler.
func (x *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header[wire.HeaderRequestID]
	if len(given) != 1 || !isRequestID(given[0]) {
		given = []string{x.begin + strconv.FormatUint(x.last.Add(1), 10)}
		r.Header[wire.HeaderRequestID] = given
	}
	w.Header()[wire.HeaderRequestID] = given
	began := time.Now()
	out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	method, route := x.routeOf(r)
	defer func() { // even if the answer breaks off
		took := time.Since(began)
		x.Meter.Served(method, route, out.status, took)
		if x.logger != nil {
			x.logger.Debug("request", "id", given[0], "method", method, "route", route, "status", out.status,
				"took", took.Round(time.Microsecond))
		}
	}()
	x.server.ServeHTTP(out, r)
}

// isRequestID reports whether an id that a caller chose can stand in a log and in a header.
func isRequestID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return id != "" && len(id) <= longestRequestID
}

// requestID returns the id of a request.
func requestID(r *http.Request) string { return r.Header.Get(wire.HeaderRequestID) }

// routeOf returns a request's method, and its route without ids; words that no route has are not shown.
func (x *requests) routeOf(r *http.Request) (method, route string) {
	const other = "other"
	if compat.IsSocket(r) { // its path says nothing
		return r.Method, "websocket"
	}
	if id, ok := strings.CutPrefix(r.URL.Path, commandsPath); ok && r.Method == http.MethodPost {
		if _, known := commands.CurrentRules().Row(id); !known {
			return r.Method, commandsPath + "{id}"
		}
		return r.Method, r.URL.Path
	}
	if r.Method == http.MethodPost && r.URL.Path == manifestsPath || isMCP(r) {
		return r.Method, r.URL.Path
	}
	probe := *r
	_, pattern := x.mux.Handler(&probe)
	if pattern == "" || pattern == "/" {
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

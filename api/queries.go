package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"maestro/api/compat"
	"maestro/commands"
	"maestro/service"
)

// plainQueries are the reads with an answer in a form of its own, by pattern; the others are registered with their
// query.
var plainQueries = map[string]service.Query{
	"GET /api/audit/export":           "audit-export",
	"GET /api/audit/verify":           "audit-verify",
	"GET /api/audit/texts":            "audit-texts",
	"GET /api/backup":                 "backup",
	"GET /api/blobs/{digest}":         "blob",
	"GET /api/clock":                  "clock",
	"GET /api/live":                   "live",
	"GET /api/logins":                 "login-list",
	"GET /api/manifests/schema":       "manifest-schema",
	"GET /api/sessions/{id}/manifest": "session-manifest",
	"GET " + metricsPath:              "metrics",
}

// writeRows are the rows of the permission table for our own clients' writes below /api besides commands.
var writeRows = map[string]string{
	"POST /api/clock/confirm":           service.RowOfClock,
	"POST /api/login-codes":             service.RowOfLogin,
	"DELETE /api/logins/{id}":           service.RowOfLogins,
	"POST /api/manifests/generate":      service.RowOfManifest,
	"POST " + manifestsPath:             service.RowOfManifest,
	"POST /api/sessions/{id}/heartbeat": service.RowOfHeartbeat,
	"POST /api/webhooks/{id}/test":      service.RowOfWebhookTest,
}

// rowsOf returns the rows of the permission table that permit a route other than a command: one of them, depending on
// the request.
func rowsOf(r Documented) []string {
	pattern := r.Method + " " + r.Path
	if row := cmp.Or(r.row, writeRows[pattern]); row != "" {
		return []string{row}
	}
	if query, plain := plainQueries[pattern]; plain {
		return query.Rows()
	}
	command := strings.Replace(r.Name, "-", ":", 1)
	if row, ok := commands.CurrentRules().Row(command); ok && row.Write && r.Method != http.MethodGet {
		return []string{row.ID}
	}
	return service.Query(r.Name).Rows()
}

// queryOf returns a request's query; "" if it is not a read, or there is no such route.
func (s *server) queryOf(r *http.Request) service.Query {
	if compat.IsSocket(r) {
		return compat.SocketQuery
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return ""
	}
	_, pattern := s.mux.Handler(r)
	query, named := s.queries[pattern]
	if !named && pattern != "/" {
		return service.Query(pattern)
	}
	return query
}

// ask declares a request's query to the service. The table refuses commands, and an unknown path is not found for any
// caller.
func (s *server) ask(r *http.Request, c *call) error {
	if !c.Reads {
		return nil
	}
	query := s.queryOf(r)
	if query == "" {
		return nil
	}
	return refusedToPage(s.Ask(c.Caller, query))
}

// refusedToPage puts the refusal of a long read into words.
func refusedToPage(err error) error {
	if errors.Is(err, service.ErrPage) {
		return &service.Problem{
			Kind:    service.KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "This read needs a Maestro-Client header",
			Why:     "it reads the whole log, and a caller without a token could be any page in a browser",
			Next:    "send `Maestro-Client: <name>`, or a token",
		}
	}
	return err
}

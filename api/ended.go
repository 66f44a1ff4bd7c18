package api

import (
	"net/http"

	"maestro/service"
)

// endedRoutes are the reads that a session keeps after its end: itself, its own tasks, its own questions and mail.
// Every other read is refused, also one that is added later. Whose session, task or question it is, the reads
// themselves check, with [view.own].
var endedRoutes = map[string]bool{
	"GET /api/whoami":                 true,
	"GET /api/commands":               true,
	"GET /api/commands/{id}":          true,
	"GET /api/sessions/{id}":          true,
	"GET /api/sessions/{id}/timeline": true,
	"GET /api/sessions/{id}/manifest": true,
	"GET /api/sessions/{id}/mail":     true,
	"GET /api/tasks/{id}":             true,
	"GET /api/inputs":                 true,
	"GET /api/inputs/{id}":            true,
}

// afterEnd refuses a session that has ended every read but those of endedRoutes. Commands are the table's to refuse.
func (s *server) afterEnd(r *http.Request, c *call) error {
	if !c.Ended || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	if _, route := s.mux.Handler(r); endedRoutes[route] || route == "/" {
		return nil
	}
	return service.AfterEnd(c.By, "status") // the row that reads the project
}

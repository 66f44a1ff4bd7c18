package api

import (
	"net/http"
	"slices"

	"maestro/commands"
	"maestro/projections"
)

// endedRoutes are the reads that a session keeps after its end: itself, its own tasks, its own questions. Every other
// read is refused, also one that is added later. Whose session, task or question it is, the reads themselves check,
// with [view.own].
var endedRoutes = map[string]bool{
	"GET /api/whoami":                 true,
	"GET /api/commands":               true,
	"GET /api/sessions/{id}":          true,
	"GET /api/sessions/{id}/timeline": true,
	"GET /api/sessions/{id}/manifest": true,
	"GET /api/tasks/{id}":             true,
	"GET /api/inputs":                 true,
	"GET /api/inputs/{id}":            true,
}

// afterEnd refuses a session that has ended every read but those of endedRoutes. Commands are the table's to refuse.
func (s *server) afterEnd(r *http.Request, c *call) error {
	if !c.ended || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	if _, route := s.mux.Handler(r); endedRoutes[route] || route == "/" {
		return nil
	}
	return endedReads(c.by, "status") // the row that reads the project
}

// own refuses a session that has ended what is not its own.
func (v view) own(row string, own bool) error {
	if own || !v.callerEnded() {
		return nil
	}
	return endedReads(v.call.by, row)
}

func (v view) callerEnded() bool {
	if v.call.by.Kind != commands.ActorSession {
		return false
	}
	x := v.Session(v.call.by.Name)
	return x == nil || x.Ended()
}

// ownTask reports whether a task is one of the calling session's: given to it, or an item that it took from a queue.
func (v view) ownTask(id string) bool {
	x := v.Session(v.call.by.Name)
	return x != nil && (slices.Contains(x.TaskIDs, id) || v.HeldOnce(x.ID, id))
}

func endedReads(by commands.Actor, row string) error {
	return &commands.Refusal{
		Code: commands.CodeNotAllowed, Rule: row, Message: "Session '" + by.Name + "' has ended",
		Why:  "after its end a session reads itself, its own tasks and its own questions, and nothing else",
		Next: "spawn another session",
	}
}

// seesEnv reports whether the caller sees a session's environment, which may hold secrets: the user (an admin's token
// or an auditor's, who reads the whole log), and the session itself.
func (c *call) seesEnv(x *projections.Session) bool {
	return c.readsAll() || c.by.Kind == commands.ActorSession && c.by.Name == x.ID
}

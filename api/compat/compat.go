// Package compat serves the routes and the shapes of older clients by translation: a request becomes commands, and
// their outcome becomes the answer that those clients expect. older.txt lists what only they use.
//
// It ignores unknown fields of a request. An answer to a write shows only the newest entries of a timeline. Our own
// clients use POST /api/commands/<id> and the reads of package api instead, and this package does not know those
// requests. Both use four of the reads here; our own clients read the shape of service/wire in the answer.
package compat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"maestro/api/route"
	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// Server is what these routes need from the HTTP server that they belong to.
type Server struct {
	route.Server

	// Body returns the body of a request, nil if it has none.
	Body func(ctx context.Context) []byte
}

// compat answers the requests of older clients.
type compat struct {
	*service.Service

	server Server
}

// Register adds the routes of older clients to a server.
func Register(server Server) {
	s := &compat{server.Service, server}
	s.projectRoutes()
	s.taskRoutes()
	s.sessionRoutes()
	s.spawnRoutes()
	s.timelineRoutes()
	s.queueRoutes()
	s.templateReads()
	s.templateRoutes()
	s.skillRoutes()
}

// RegisterReads adds the reads that older clients share with ours: their answers have members for older clients in
// addition to the shapes of service/wire, which our own clients read, or another message.
func RegisterReads(server Server) {
	s := &compat{server.Service, server}
	route.List[SessionBody](server.Table)
	route.List[SessionEvent](server.Table)
	route.List[wire.Entry](server.Table)
	s.sessionReads()
	s.queueReads()
}

// olderReads are the reads that older clients know, by pattern.
var olderReads = []string{
	"GET /api/projects",
	"GET /api/projects/{id}",
	"GET /api/sessions",
	"GET /api/sessions/{id}",
	"GET /api/sessions/{id}/queue",
	"GET /api/sessions/{id}/queue/items",
	"GET /api/sessions/{id}/queue/top",
	"GET /api/skills",
	"GET /api/skills/role/{role}",
	"GET /api/skills/{id}",
	"GET /api/tasks",
	"GET /api/tasks/{id}",
	"GET /api/tasks/{id}/children",
	"GET /api/templates",
	"GET /api/templates/default/{role}",
	"GET /api/templates/role/{role}",
	"GET /api/templates/{id}",
}

// IsOlderRead reports whether older clients know a read, given by its pattern.
func IsOlderRead(pattern string) bool { return slices.Contains(olderReads, pattern) }

// UnknownIsEmpty reports whether older clients expect an empty list at a path if a filter names something unknown.
func UnknownIsEmpty(path string) bool { return path == "/api/tasks" || path == "/api/sessions" }

// SessionOf returns the session that a path identifies: older clients have no credential, and a caller below a
// session's queue, timeline or events is that session. It is "" elsewhere.
func SessionOf(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/sessions/")
	if !ok {
		return ""
	}
	id, below, _ := strings.Cut(rest, "/")
	below, _, _ = strings.Cut(below, "/")
	if below != "queue" && below != "timeline" && below != "events" {
		return ""
	}
	return id
}

// call is a request and its caller.
type call struct {
	*service.Caller

	body []byte
}

// op is a route that writes.
type op struct {
	route.Route

	// row is the row of the table that every request needs, "" if it depends on the body.
	row string
}

// write registers a route that translates a request into commands.
func write[I, T any](s *compat, o op, act func(ctx context.Context, c *call, in *I) (T, error)) {
	o.Row, o.Older = cmp.Or(o.Row, o.row), true
	route.Register(s.server.Server, o.Route, func(ctx context.Context, in *I) (out route.Answer[T], err error) {
		c := &call{s.server.Caller(ctx), s.server.Body(ctx)}
		if c.Ended { // a retry would show the present state
			return out, s.AfterEnd(c.Caller, cmp.Or(o.row, "status"))
		}
		if o.row != "" {
			if err := s.PermitEarly(ctx, c.Caller, o.row, int64(len(c.body))); err != nil {
				return out, err
			}
		}
		if out.Body, err = act(ctx, c, in); err != nil {
			return out, err
		}
		out.Sequence = s.Head()
		return out, nil
	})
}

// decode reads the body. It ignores unknown names, and refuses wrong types, duplicate names and known names in the
// wrong case.
func (c *call) decode(ctx context.Context, into any) error {
	if len(c.body) == 0 {
		return nil
	}
	if !utf8.Valid(c.body) {
		return service.InvalidRequest("", "the body is not valid UTF-8")
	}
	if err := commands.CheckNames(ctx, c.body, into); err != nil {
		return err
	}
	if err := json.Unmarshal(c.body, into); err != nil {
		return commands.ExplainJSON(err)
	}
	return nil
}

// as returns the actor on whose behalf a body says it acts: it must be the caller, unless the caller showed no
// credential. source is "session", "user" or "".
func (s *compat) as(c *call, source, session string) (commands.Actor, error) {
	switch {
	case c.Anonymous && source == "session" && session == "":
		return commands.Actor{}, service.InvalidRequest("/sessionId", "sessionId is required")
	case c.Anonymous && source == "session":
		var project string
		s.Handler.View(func(state *projections.State) { project = state.SessionProject(session) })
		return commands.SessionActor(project, session, commands.AuthnNone), nil
	case c.Anonymous:
		return c.By, nil
	case c.By.Kind == commands.ActorSession:
		if (source != "" && source != "session") || (session != "" && session != c.By.Name) {
			return commands.Actor{}, c.OtherIdentity(session)
		}
	case source == "session" || source == "" && session != "":
		return commands.Actor{}, c.OtherIdentity(session)
	}
	return c.By, nil
}

// do executes one command of a request.
func (s *compat) do(
	ctx context.Context, c *call, by commands.Actor, command commands.Command, suffix string,
) (engine.Answer, error) {
	done, err := s.Do(ctx, c.Caller, service.Call{Command: command, By: by, Suffix: suffix})
	return done.Answer, err
}

// step is one of the commands of a request.
type step struct {
	command commands.Command
	suffix  string
}

// doAll executes the commands of a request, in order.
func (s *compat) doAll(ctx context.Context, c *call, by commands.Actor, project string, steps []step) error {
	if err := s.payAll(ctx, c, by, project, steps); err != nil {
		return err
	}
	for _, step := range steps {
		if _, err := s.do(ctx, c, by, step.command, step.suffix); err != nil {
			return err
		}
	}
	return nil
}

// payAll checks, before the first command of a request, that the table permits all of them, and pays for all.
func (s *compat) payAll(ctx context.Context, c *call, by commands.Actor, project string, steps []step) error {
	if len(steps) > 1 {
		if err := s.permitAll(by, project, steps); err != nil {
			return err
		}
	}
	return s.ReserveCommands(ctx, c.Caller, len(steps))
}

// permitAll checks the table for each kind of command among the steps.
func (s *compat) permitAll(by commands.Actor, project string, steps []step) (err error) {
	var asked []string
	for _, step := range steps {
		id := step.command.ID()
		if slices.Contains(asked, id) {
			continue
		}
		asked = append(asked, id)
		s.Handler.View(func(state *projections.State) {
			err = commands.Permit(state, commands.CurrentRules(), by, id, project)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unexpected returns the error for an answer that a command cannot give.
func unexpected(id string, answer engine.Answer) error {
	return fmt.Errorf("%s came to %T at sequence %d", id, answer.Data, answer.Sequence)
}

// deleted is the answer to a deletion.
type deleted struct {
	Success bool   `json:"success"`
	ID      string `json:"id"`
}

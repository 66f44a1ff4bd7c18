package api

import (
	"context"
	"maps"
	"net/http"

	"maestro/api/compat"
	"maestro/api/route"
	"maestro/engine"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// describe says by which types the answers are described that are created while they are written.
func describe(t *route.Table) {
	page[engine.Denial](t)
	page[projections.ProjectView](t)
	page[projections.QueueView](t)
	page[wire.Template](t)
	page[wire.TokenView](t)
	page[wire.Webhook](t)
	route.Describe[service.TaskPage, []projections.TaskView](t)
	route.Describe[service.Tree, projections.TaskTree](t)
	route.Describe[service.TreePage, []projections.TaskTree](t)
	route.List[projections.EntryView](t)
	route.Describe[service.QueuePage, wire.QueueBody](t)
}

func page[T any](t *route.Table) { route.Describe[service.Page[T], []T](t) }

// mount returns what the routes of one form need from the server.
func (s *server) mount() route.Server {
	return route.Server{
		Service: s.Service,
		Mux:     s.mux,
		Table:   &s.table,
		Caller:  func(ctx context.Context) *service.Caller { return callOf(ctx).Caller },
		Show: func(w http.ResponseWriter, status int, body any, again bool) (mixed bool) {
			w.WriteHeader(status)
			return s.marshal(w, body, again)
		},
		Refuse: func(w http.ResponseWriter, r *http.Request, err error) {
			p := s.problemAt(callOf(r.Context()), err)
			header := w.Header()
			header["Content-Type"] = s.jsonType
			maps.Copy(header, p.headers)
			w.WriteHeader(p.status)
			s.marshal(w, p, false)
		},
		Queries: s.queries,
	}
}

// compatRoutes mounts the routes of older clients.
func (s *server) compatRoutes() {
	compat.Register(s.mountCompat())
	answers(s, compat.HealthRoute, compat.HealthSummary, s.health) // needs no caller, as the others do
	answers(s, compat.SocketsRoute, compat.SocketsSummary, func(*http.Request) (compat.SocketsStatus, error) {
		return s.sockets.Status(), nil
	})
}

// webSocket sends a client what its caller may watch, in the events of older clients.
func (s *server) webSocket(w http.ResponseWriter, r *http.Request, c *call) {
	if err := s.sockets.Serve(w, r, c.Caller); err != nil {
		s.fail(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)), err)
	}
}

// sharedRoutes mounts the reads of our own clients whose answers have more members for older clients.
func (s *server) sharedRoutes() { compat.RegisterReads(s.mountCompat()) }

func (s *server) mountCompat() compat.Server {
	return compat.Server{
		Server: s.mount(),
		Body:   func(ctx context.Context) []byte { return callOf(ctx).body },
	}
}

func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		panic("api: a route below /api was reached without a caller")
	}
	return c
}

// problemAt is an error with the sequence at which it was found.
func (s *server) problemAt(c *call, err error) *httpProblem {
	err = s.RecordRefusal(c.request.Context(), c.Caller, err)
	p := overHTTP(s.ProblemOf(c.Caller, err, nameOf(c.request)))
	p.headers[wire.HeaderSequence] = []string{sequenceText(s.HeadFor(c.Caller))}
	return p
}

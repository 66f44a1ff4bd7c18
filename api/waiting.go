package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"maestro/commands"
	"maestro/projections"
	"maestro/service"
)

// headerAnswers names, to a session, its questions whose answers it was not yet shown.
const headerAnswers = "Maestro-Answers"

// heard notes that a session calls, whatever it asks for, and tells it of answers that wait for it.
func (s *server) heard(ctx context.Context, header http.Header, c *call) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	if len(c.Answers) > 0 {
		header.Set(headerAnswers, strings.Join(c.Answers, ","))
	}
	if s.Leases == nil || c.Anonymous && c.reads() {
		return nil
	}
	return s.Leases.Heard(ctx, c.By.Name)
}

// lastWords is how long a client may take, once the server stops, to read what a stream sent it.
const lastWords = 500 * time.Millisecond

// open serves what may stay open for long: it ends when the caller's credential is revoked or expires, or the server
// stops.
func (s *server) open(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		good, done := s.WhileGood(r.Context(), callOf(r.Context()).Caller)
		defer done()
		defer context.AfterFunc(s.Stopping, func() {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastWords))
		})()
		serve(w, r.WithContext(good))
	}
}

// readAfter is read for a view that may be waited for.
func readAfter[I, T any](
	s *server,
	o op,
	before func(ctx context.Context, c *service.Caller, in *I) error,
	see func(v service.View, in *I) (T, error),
) {
	o.method = http.MethodGet
	huma.Register(s.huma, s.operation(o), func(ctx context.Context, in *I) (*answer[T], error) {
		c := callOf(ctx)
		if err := before(ctx, c.Caller, in); err != nil {
			return nil, s.problemAt(c, err)
		}
		out := &answer[T]{ContentType: s.jsonType[0]}
		var err error
		s.Handler.View(func(state *projections.State) {
			out.Sequence = state.Head().Sequence
			out.Body, err = see(s.At(state, c.Caller), in)
		})
		if err != nil {
			return nil, s.problemAt(c, err)
		}
		return out, nil
	})
}

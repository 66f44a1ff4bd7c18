package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"maestro/api/compat"
	"maestro/api/route"
	"maestro/engine"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// newHuma returns the part of the API that documents itself: it routes through the mux and serves no page of its own.
func newHuma(mux *http.ServeMux, version string) huma.API {
	format := huma.Format{Marshal: marshal, Unmarshal: json.Unmarshal}
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	// What is created while it is written is documented by its type.
	pageSchema[engine.Denial](schemas)
	pageSchema[projections.ProjectView](schemas)
	pageSchema[projections.QueueView](schemas)
	pageSchema[wire.Template](schemas)
	pageSchema[wire.TokenView](schemas)
	schemas.RegisterTypeAlias(reflect.TypeFor[service.TaskPage](), reflect.TypeFor[[]projections.TaskView]())
	schemas.RegisterTypeAlias(reflect.TypeFor[service.Tree](), reflect.TypeFor[projections.TaskTree]())
	schemas.RegisterTypeAlias(reflect.TypeFor[service.TreePage](), reflect.TypeFor[[]projections.TaskTree]())
	listSchema[projections.EntryView](schemas)
	schemas.RegisterTypeAlias(reflect.TypeFor[service.QueuePage](), reflect.TypeFor[wire.QueueBody]())
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "Maestro", Version: version},
			Components: &huma.Components{Schemas: schemas},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{ourErrors},
	})
}

func pageSchema[T any](schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[service.Page[T]](), reflect.TypeFor[[]T]())
}

func listSchema[T any](schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[service.List[T]](), reflect.TypeFor[[]T]())
}

// ourErrors converts the few errors that huma raises itself to our form.
func ourErrors(_ huma.Context, _ string, v any) (any, error) {
	var theirs *huma.ErrorModel
	if err, ok := v.(error); !ok || !errors.As(err, &theirs) {
		return v, nil
	}
	p := &service.Problem{Kind: service.KindInvalid, Code: "VALIDATION_ERROR", Message: theirs.Detail}
	if theirs.Status >= http.StatusInternalServerError {
		p.Kind, p.Code = service.KindInternal, "INTERNAL_ERROR"
	}
	return overHTTP(p.Complete()), nil
}

// mount returns what the self-documenting routes need from the server.
func (s *server) mount() route.Server {
	return route.Server{
		Service: s.Service,
		API:     s.huma,
		Caller:  func(ctx context.Context) *service.Caller { return callOf(ctx).Caller },
		Problem: func(ctx context.Context, err error) error { return s.problemAt(callOf(ctx), err) },
		Queries: s.queries,
		Page:    pageParam,
	}
}

// compatRoutes mounts the routes of older clients.
func (s *server) compatRoutes() { compat.Register(s.mountCompat()) }

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
	p.headers[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	return p
}

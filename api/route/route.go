// Package route registers routes that document themselves: it creates the entry of each in the OpenAPI document, and
// sends with every answer the sequence at which it was read. It is independent of the individual requests and answers.
package route

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"maestro/service"
)

// ContentType is the content type of every answer.
const ContentType = "application/json; charset=utf-8"

// Server is what routes need from the HTTP server that they belong to.
type Server struct {
	Service *service.Service
	API     huma.API
	// Caller returns who asks.
	Caller func(ctx context.Context) *service.Caller
	// Problem returns an error as HTTP answers it.
	Problem func(ctx context.Context, err error) error
	// Queries receives the query of each read, by its pattern on the mux.
	Queries map[string]service.Query
	// Page documents the parameter for the next page of a route's list; nil for a route without pages.
	Page func(query service.Query) *huma.Param
}

// Route describes a route.
type Route struct {
	Method, Path, Name, Summary string
	// Status is the status of success; 200 if 0.
	Status int
	// Body is an example of the request's body, for the documentation; nil if it takes none.
	Body any
}

// Answer is the answer of every route.
type Answer[T any] struct {
	ContentType string `header:"Content-Type"`
	Sequence    uint64 `header:"Maestro-Sequence"`
	Body        T
}

// Register adds a route to the server.
func Register[I, T any](s Server, r Route, answer func(ctx context.Context, in *I) (Answer[T], error)) {
	huma.Register(s.API, s.operation(r), func(ctx context.Context, in *I) (*Answer[T], error) {
		out, err := answer(ctx, in)
		if err != nil {
			return nil, s.Problem(ctx, err)
		}
		out.ContentType = ContentType
		return &out, nil
	})
}

func (s Server) operation(r Route) huma.Operation {
	operation := huma.Operation{
		OperationID:        r.Name,
		Method:             r.Method,
		Path:               r.Path,
		Summary:            r.Summary,
		DefaultStatus:      r.Status,
		SkipValidateParams: true,
	}
	if r.Method == http.MethodGet {
		s.Queries[r.Method+" "+r.Path] = service.Query(r.Name)
		operation.Parameters = []*huma.Param{{
			Name:        "minSeq",
			In:          "query",
			Description: "wait until the views have reached this sequence",
			Schema:      &huma.Schema{Type: huma.TypeInteger},
		}}
		if page := s.Page(service.Query(r.Name)); page != nil {
			operation.Parameters = append(operation.Parameters, page)
		}
	}
	if r.Body != nil {
		schema := s.API.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(r.Body), true, r.Name+"-body")
		content := map[string]*huma.MediaType{"application/json": {Schema: schema}}
		operation.RequestBody = &huma.RequestBody{Content: content}
	}
	return operation
}

// List documents a list that is created while it is written as a plain list.
func List[T any](api huma.API) {
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[service.List[T]](), reflect.TypeFor[[]T]())
}

// Bare adapts a view without parameters.
func Bare[T any](see func(v service.View) (T, error)) func(v service.View, _ *struct{}) (T, error) {
	return func(v service.View, _ *struct{}) (T, error) { return see(v) }
}

// Read registers a route that shows a view. see runs while the state is held, and must not retain it.
func Read[I, T any](s Server, r Route, see func(v service.View, in *I) (T, error)) {
	ReadThen(s, r, func(v service.View, in *I) (func() T, error) {
		seen, err := see(v, in)
		return func() T { return seen }, err
	})
}

// ReadThen is Read for a long view: the function that see returns runs after the state is released, on values that do
// not change.
func ReadThen[I, T any](s Server, r Route, see func(v service.View, in *I) (func() T, error)) {
	r.Method = http.MethodGet
	Register(s, r, func(ctx context.Context, in *I) (Answer[T], error) {
		var out Answer[T]
		var finish func() T
		err := s.Service.Look(ctx, s.Caller(ctx), func(v service.View) (err error) {
			out.Sequence = v.Head().Sequence
			finish, err = see(v, in)
			return err
		})
		if err == nil {
			out.Body = finish()
		}
		return out, err
	})
}

// ReadParts is ReadThen for an answer with parts that are created while it is written.
func ReadParts[I, T any](s Server, r Route, see func(v service.View, in *I) (func() (T, error), error)) {
	r.Method = http.MethodGet
	Register(s, r, func(ctx context.Context, in *I) (Answer[T], error) {
		var out Answer[T]
		var finish func() (T, error)
		err := s.Service.Look(ctx, s.Caller(ctx), func(v service.View) (err error) {
			out.Sequence = v.Head().Sequence
			finish, err = see(v, in)
			return err
		})
		if err == nil {
			err = service.RecoverPart(func() (err error) {
				out.Body, err = finish()
				return err
			})
		}
		return out, err
	})
}

// ReadAfter is Read for a view that a caller may wait for.
func ReadAfter[I, T any](
	s Server,
	r Route,
	before func(ctx context.Context, c *service.Caller, in *I) error,
	see func(v service.View, in *I) (T, error),
) {
	r.Method = http.MethodGet
	Register(s, r, func(ctx context.Context, in *I) (Answer[T], error) {
		c := s.Caller(ctx)
		var out Answer[T]
		if err := before(ctx, c, in); err != nil {
			return out, err
		}
		err := s.Service.Look(ctx, c, func(v service.View) (err error) {
			out.Sequence = v.Head().Sequence
			out.Body, err = see(v, in)
			return err
		})
		return out, err
	})
}

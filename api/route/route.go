// Package route registers the routes that share one form: their parameters are strings, and the answer is JSON with the
// sequence at which it was read. It keeps a description of each, and is independent of the individual requests and
// answers.
package route

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"

	"maestro/service"
	"maestro/service/wire"
)

// ContentType is the content type of every answer.
const ContentType = "application/json; charset=utf-8"

// Server is what routes need from the HTTP server that they belong to.
type Server struct {
	Service *service.Service
	Mux     *http.ServeMux
	// Table receives what is registered.
	Table *Table
	// Caller returns who asks.
	Caller func(ctx context.Context) *service.Caller
	// Show writes the status and body of an answer, and Refuse answers with an error. With again, Show does not write
	// an answer that mixes several moments, but returns true.
	Show   func(w http.ResponseWriter, status int, body any, again bool) (mixed bool)
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
	// Queries receives the query of each read, by its pattern on the mux.
	Queries map[string]service.Query
}

// Table describes the registered routes.
type Table struct {
	Routes []Registered
	// Alias holds, for each type that is created while it is written, the type that describes it.
	Alias map[reflect.Type]reflect.Type
}

// Describe says that answers of type T have the form of As.
func Describe[T, As any](t *Table) {
	if t.Alias == nil {
		t.Alias = map[reflect.Type]reflect.Type{}
	}
	t.Alias[reflect.TypeFor[T]()] = reflect.TypeFor[As]()
}

// Route describes a route.
type Route struct {
	Method, Path, Name, Summary string
	// Row is the row of the permission table for a write that is not named after its command; "" for the others.
	Row string
	// Older says that only older clients call it.
	Older bool
	// Status is the status of success; 200 if 0.
	Status int
	// Body is an example of the request's body; nil if it takes none.
	Body any
}

// Registered is a route with its parameters and the type of its answer.
type Registered struct {
	Route

	Params []Param
	Answer reflect.Type
}

// Answer is the answer of every route.
type Answer[T any] struct {
	Sequence uint64
	Body     T
}

// Register adds a route to the server.
func Register[I, T any](s Server, r Route, answer func(ctx context.Context, in *I) (Answer[T], error)) {
	register(s, r, nil, answer, 1)
}

// read adds a read of the state, which is tried until its answer is of one moment. before runs once, before the first
// try; nil for nothing.
func read[I, T any](
	s Server, r Route, before func(ctx context.Context, in *I) error,
	answer func(ctx context.Context, in *I) (Answer[T], error),
) {
	r.Method = http.MethodGet
	register(s, r, before, answer, service.ReadTries)
}

func register[I, T any](
	s Server, r Route, before func(ctx context.Context, in *I) error,
	answer func(ctx context.Context, in *I) (Answer[T], error), tries int,
) {
	params := ParamsOf(reflect.TypeFor[I]())
	pattern, status := r.Method+" "+r.Path, cmp.Or(r.Status, http.StatusOK)
	documented := params
	if r.Method == http.MethodGet {
		query := service.Query(r.Name)
		s.Queries[pattern] = query
		documented = withPages(params, query)
	}
	s.Table.Routes = append(s.Table.Routes, Registered{r, documented, reflect.TypeFor[T]()})
	contentType := []string{ContentType}
	s.Mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		var in I
		bind(reflect.ValueOf(&in).Elem(), params, req)
		if before != nil {
			if err := before(req.Context(), &in); err != nil {
				s.Refuse(w, req, err)
				return
			}
		}
		for try := 1; ; try++ {
			if r.Method == http.MethodGet {
				s.Caller(req.Context()).BeginRead()
			}
			out, err := answer(req.Context(), &in)
			if err != nil {
				s.Refuse(w, req, err)
				return
			}
			header := w.Header()
			header["Content-Type"] = contentType
			header[wire.HeaderSequence] = []string{strconv.FormatUint(out.Sequence, 10)}
			if mixed := s.Show(w, status, out.Body, try < tries); !mixed {
				return
			}
		}
	})
}

// List describes a list that is created while it is written as a plain list.
func List[T any](t *Table) { Describe[service.List[T], []T](t) }

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
	read(s, r, nil, func(ctx context.Context, in *I) (Answer[T], error) {
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
	read(s, r, nil, func(ctx context.Context, in *I) (Answer[T], error) {
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
	read(s, r, func(ctx context.Context, in *I) error {
		return before(ctx, s.Caller(ctx), in)
	}, func(ctx context.Context, in *I) (Answer[T], error) {
		var out Answer[T]
		err := s.Service.Look(ctx, s.Caller(ctx), func(v service.View) (err error) {
			out.Sequence = v.Head().Sequence
			out.Body, err = see(v, in)
			return err
		})
		return out, err
	})
}

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// newHuma gives the part of the API that documents itself: it routes through the mux and shows no page of its own.
func newHuma(mux *http.ServeMux, version string) huma.API {
	format := huma.Format{Marshal: marshal, Unmarshal: json.Unmarshal}
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	// A lazy list is documented as the list that it is.
	schemas.RegisterTypeAlias(
		reflect.TypeFor[service.List[service.SessionBody]](),
		reflect.TypeFor[[]service.SessionBody](),
	)
	schemas.RegisterTypeAlias(
		reflect.TypeFor[service.List[wire.SessionEvent]](),
		reflect.TypeFor[[]wire.SessionEvent](),
	)
	schemas.RegisterTypeAlias(
		reflect.TypeFor[service.List[projections.EntryView]](),
		reflect.TypeFor[[]projections.EntryView](),
	)
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

// ourErrors gives the few errors that huma raises itself our form.
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

// answer is what every route of huma's answers.
type answer[T any] struct {
	ContentType string `header:"Content-Type"`
	Sequence    uint64 `header:"Maestro-Sequence"`
	Body        T
}

// op says what a route is.
type op struct {
	method, path, name, summary string
	// status is that of success; 200 if 0.
	status int
	// body is an example of the request's body, for the documentation; nil if it takes none.
	body any
	// row is the row of the table that every request of a write needs, "" if that depends on the body.
	row string
}

func (s *server) operation(o op) huma.Operation {
	operation := huma.Operation{
		OperationID:        o.name,
		Method:             o.method,
		Path:               o.path,
		Summary:            o.summary,
		DefaultStatus:      o.status,
		SkipValidateParams: true,
	}
	if o.method == http.MethodGet {
		operation.Parameters = []*huma.Param{{
			Name:        "minSeq",
			In:          "query",
			Description: "wait until the views have reached this sequence",
			Schema:      &huma.Schema{Type: huma.TypeInteger},
		}}
	}
	if o.method == http.MethodGet && inPages[o.path] {
		operation.Parameters = append(operation.Parameters, &huma.Param{
			Name:        "cursor",
			In:          "query",
			Description: "what " + headerNext + " of the page before held",
			Schema:      &huma.Schema{Type: huma.TypeString},
		})
	}
	if o.body != nil {
		schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(o.body), true, o.name+"-body")
		content := map[string]*huma.MediaType{"application/json": {Schema: schema}}
		operation.RequestBody = &huma.RequestBody{Content: content}
	}
	return operation
}

// bare is a view that asks for nothing.
func bare[T any](see func(v service.View) (T, error)) func(v service.View, _ *struct{}) (T, error) {
	return func(v service.View, _ *struct{}) (T, error) { return see(v) }
}

// read registers a route that shows a view. see runs while the state stands still, and must not keep it.
func read[I, T any](s *server, o op, see func(v service.View, in *I) (T, error)) {
	readThen(s, o, func(v service.View, in *I) (func() T, error) {
		seen, err := see(v, in)
		return func() T { return seen }, err
	})
}

// readThen is read for a long view: what see returns is called when the state moves again, to work on values that
// do not.
func readThen[I, T any](s *server, o op, see func(v service.View, in *I) (func() T, error)) {
	o.method = http.MethodGet
	huma.Register(s.huma, s.operation(o), func(ctx context.Context, in *I) (*answer[T], error) {
		c := callOf(ctx)
		out := &answer[T]{ContentType: s.jsonType[0]}
		var finish func() T
		var err error
		s.Handler.View(func(state *projections.State) {
			out.Sequence = state.Head().Sequence
			finish, err = see(s.At(state, c.Caller), in)
		})
		if err != nil {
			return nil, s.problemAt(c, err)
		}
		out.Body = finish()
		return out, nil
	})
}

// write registers a route that translates a request into commands.
func write[I, T any](s *server, o op, act func(ctx context.Context, c *call, in *I) (T, error)) {
	huma.Register(s.huma, s.operation(o), func(ctx context.Context, in *I) (*answer[T], error) {
		c := callOf(ctx)
		if c.Ended { // a retry would show what is so now
			return nil, s.problemAt(c, service.AfterEnd(c.By, cmp.Or(o.row, "status")))
		}
		if o.row != "" {
			if err := s.PermitEarly(c.Caller, o.row, int64(len(c.body))); err != nil {
				return nil, s.problemAt(c, err)
			}
		}
		body, err := act(ctx, c, in)
		if err != nil {
			return nil, s.problemAt(c, err)
		}
		return &answer[T]{ContentType: s.jsonType[0], Sequence: s.Head(), Body: body}, nil
	})
}

func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		panic("api: a route below /api was reached without a caller")
	}
	return c
}

// problemAt is an error with the sequence that it was found at.
func (s *server) problemAt(c *call, err error) *httpProblem {
	err = s.RecordRefusal(c.request.Context(), c.Caller, err)
	p := overHTTP(s.ProblemOf(err, nameOf(c.request)))
	p.headers["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	return p
}

// decode reads the body of an older route: names that it does not know are ignored; wrong types, names that are there
// twice and known names in the wrong case are refused.
func (c *call) decode(into any) error {
	if len(c.body) == 0 {
		return nil
	}
	if !utf8.Valid(c.body) {
		return service.InvalidRequest("", "the body is not valid UTF-8")
	}
	if err := commands.CheckNames(c.request.Context(), c.body, into); err != nil {
		return err
	}
	if err := json.Unmarshal(c.body, into); err != nil {
		return commands.ExplainJSON(err)
	}
	return nil
}

// do brings one command of a request through.
func (s *server) do(
	ctx context.Context, c *call, by commands.Actor, command commands.Command, suffix string,
) (engine.Answer, error) {
	done, err := s.Apply(ctx, c.Caller, by, command, suffix)
	return done.Answer, err
}

// step is one of the commands that a request comes to.
type step struct {
	command commands.Command
	suffix  string
}

// doAll brings the commands of a request through, in order. Before the first it asks whether the table permits them
// all.
func (s *server) doAll(ctx context.Context, c *call, by commands.Actor, project string, steps []step) error {
	if len(steps) > 1 {
		var err error
		s.Handler.View(func(state *projections.State) {
			for _, step := range steps {
				if err == nil {
					err = commands.Permit(state, commands.CurrentRules(), by, step.command.ID(), project)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for _, step := range steps {
		if _, err := s.do(ctx, c, by, step.command, step.suffix); err != nil {
			return err
		}
	}
	return nil
}

// deleted is what older routes answer to a deletion.
type deleted struct {
	Success bool   `json:"success"`
	ID      string `json:"id"`
}

package api

import (
	"context"
	"net/http"

	"maestro/service/wire"

	"github.com/danielgtaylor/huma/v2"
)

func (s *server) whyRoutes() {
	o := op{
		path:    "/api/why/{id...}",
		name:    "why",
		summary: "Why something is as it is: the chain of causes back to a person or a deadline",
	}
	o.method = http.MethodGet
	huma.Register(
		s.huma,
		s.operation(o),
		func(ctx context.Context, in *wire.WhyQuery) (*answer[wire.Why], error) {
			c := callOf(ctx)
			body, sequence, err := s.Why(ctx, c.Caller, in.ID)
			if err != nil {
				return nil, s.problemAt(c, err)
			}
			return &answer[wire.Why]{ContentType: s.jsonType[0], Sequence: sequence, Body: body}, nil
		},
	)
}

func (s *server) sinceRoutes() {
	o := op{
		path:    "/api/since",
		name:    "since",
		summary: "What changed since a sequence or a time, by what needs a person",
	}
	o.method = http.MethodGet
	huma.Register(
		s.huma,
		s.operation(o),
		func(ctx context.Context, in *wire.SinceQuery) (*answer[wire.Since], error) {
			c := callOf(ctx)
			body, err := s.Since(ctx, c.Caller, in)
			if err != nil {
				return nil, s.problemAt(c, err)
			}
			return &answer[wire.Since]{ContentType: s.jsonType[0], Sequence: body.To, Body: body}, nil
		},
	)
}

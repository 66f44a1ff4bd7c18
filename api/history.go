package api

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/service/wire"
)

func (s *server) whyRoutes() {
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/why/{id...}",
		Name:    "why",
		Summary: "Why something is as it is: the chain of causes back to a person or a deadline",
	}, func(ctx context.Context, in *wire.WhyQuery) (out route.Answer[wire.Why], err error) {
		out.Body, out.Sequence, err = s.Why(ctx, callOf(ctx).Caller, in.ID)
		return out, err
	})
}

func (s *server) eventRoutes() {
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/events",
		Name:    "events",
		Summary: "Events of the log, filtered, in pages in both directions",
	}, func(ctx context.Context, in *wire.EventsQuery) (out route.Answer[wire.LogEvents], err error) {
		out.Body, out.Sequence, err = s.ListEvents(ctx, callOf(ctx).Caller, in)
		return out, err
	})
}

func (s *server) histogramRoutes() {
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/events/histogram",
		Name:    "events-histogram",
		Summary: "How many events, and which marks, are in slices of the log",
	}, func(ctx context.Context, in *wire.HistogramQuery) (out route.Answer[wire.EventHistogram], err error) {
		out.Body, out.Sequence, err = s.EventHistogram(ctx, callOf(ctx).Caller, in)
		return out, err
	})
}

func (s *server) sinceRoutes() {
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/since",
		Name:    "since",
		Summary: "What changed since a sequence or a time",
	}, func(ctx context.Context, in *wire.SinceQuery) (out route.Answer[wire.Since], err error) {
		out.Body, err = s.Since(ctx, callOf(ctx).Caller, in)
		out.Sequence = out.Body.To
		return out, err
	})
}

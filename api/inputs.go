package api

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) inputRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/inputs",
		Name:    "input-list",
		Summary: "The questions that the caller may see, in the order in which they were asked",
	}, service.View.ListInputs)
	route.ReadAfter(s.mount(), route.Route{
		Path:    "/api/inputs/{id}",
		Name:    "input-get",
		Summary: "A question; on request, the call waits for its answer",
	}, s.AwaitAnswer, service.View.GetInput)
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/inbox",
		Name:    "inbox",
		Summary: "Everything that needs a person, by longest wait or by urgency",
	}, func(ctx context.Context, in *wire.InboxFilter) (out route.Answer[[]projections.InboxItem], err error) {
		out.Body, out.Sequence, err = s.ListInbox(ctx, callOf(ctx).Caller, in)
		return out, err
	})
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/inbox/count",
		Name:    "inbox-count",
		Summary: "How many things need a person",
	}, func(ctx context.Context, in *wire.InboxCountFilter) (out route.Answer[wire.InboxCount], err error) {
		out.Body, out.Sequence, err = s.CountInbox(ctx, callOf(ctx).Caller, in)
		return out, err
	})
}

package api

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) sessionRoutes() {
	route.ReadAfter(s.mount(), route.Route{
		Path: "/api/sessions/{id}/mail",
		Name: "session-mail",
		Summary: "A session's unread mail, oldest first: answers, messages and notices about its tasks; a session " +
			"can wait for its own mail",
	}, s.AwaitMail, service.View.GetMail)
	route.Register(s.mount(), route.Route{
		Method:  http.MethodGet,
		Path:    "/api/sessions/{id}/workflow",
		Name:    "session-workflow",
		Summary: "The template from which a session's prompts are made, and what the session said and was told before",
	}, func(ctx context.Context, in *wire.SessionID) (out route.Answer[wire.Workflow], err error) {
		out.Body, err = s.SessionWorkflow(ctx, callOf(ctx).Caller, in)
		out.Sequence = s.Head()
		return out, err
	})
	route.Read(s.mount(), route.Route{
		Path:    "/api/sessions/{id}/credential",
		Name:    "session-credential",
		Summary: "The token and the variables of a living session, for itself and for callers that may spawn it",
	}, service.View.GetCredential)
	route.Read(s.mount(), route.Route{
		Path: "/api/sessions/{id}/runner-credential",
		Name: "runner-credential",
		Summary: "The credential with which a runner speaks for one session, for its runner and for callers that may " +
			"have its secret",
	}, service.View.GetRunnerCredential)
}

package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) sessionRoutes() {
	route.ReadAfter(s.mount(), route.Route{
		Path:    "/api/sessions/{id}/mail",
		Name:    "session-mail",
		Summary: "What waits for a session, oldest first: answers, messages, and notices of its tasks; its own it may wait for",
	}, s.AwaitMail, service.View.GetMail)
	route.Read(s.mount(), route.Route{
		Path:    "/api/sessions/{id}/credential",
		Name:    "session-credential",
		Summary: "The secret of a living session, for those who could spawn it",
	}, service.View.GetCredential)
}

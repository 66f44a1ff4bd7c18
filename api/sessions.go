package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) sessionRoutes() {
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/sessions",
		Name:    "session-list",
		Summary: "The sessions that the caller may see, in order of creation",
	}, service.View.ListSessions)
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/sessions/{id}",
		Name:    "session-info",
		Summary: "A session",
	}, service.View.GetSession)
	route.Read(s.mount(), route.Route{
		Path:    "/api/sessions/{id}/mail",
		Name:    "session-mail",
		Summary: "What waits for a session, oldest first: answers to its questions, and messages",
	}, service.View.GetMail)
}

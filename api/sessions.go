package api

import (
	"maestro/api/compat"
	"maestro/api/route"
	"maestro/service"
)

// Older clients read the first two routes too.
func (s *server) sessionRoutes() {
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/sessions",
		Name:    "session-list",
		Summary: "The sessions that the caller may see, in order of creation",
	}, then(service.View.ListSessions, compat.Sessions))
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/sessions/{id}",
		Name:    "session-info",
		Summary: "A session",
	}, then(service.View.GetSession, compat.Session))
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

// then gives a long view whose answer is shown in another form.
func then[I, T any](
	see func(service.View, *I) (func() T, error), show func(T) T,
) func(service.View, *I) (func() T, error) {
	return func(v service.View, in *I) (func() T, error) {
		made, err := see(v, in)
		return func() T { return show(made()) }, err
	}
}

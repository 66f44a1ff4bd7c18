package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) inputRoutes() {
	route.Read(s.mount(), route.Route{
		Path:    "/api/inputs",
		Name:    "input-list",
		Summary: "The questions that the caller may see, in the order in which they were asked",
	}, service.View.ListInputs)
	route.ReadAfter(s.mount(), route.Route{
		Path:    "/api/inputs/{id}",
		Name:    "input-get",
		Summary: "A question, after its answer if that is waited for",
	}, s.AwaitAnswer, service.View.GetInput)
	route.Read(s.mount(), route.Route{
		Path:    "/api/inbox",
		Name:    "inbox",
		Summary: "All that needs a person, longest wait first",
	}, service.View.ListInbox)
}

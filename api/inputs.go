package api

import "maestro/service"

func (s *server) inputRoutes() {
	read(s, op{
		path:    "/api/inputs",
		name:    "input-list",
		summary: "The questions that the caller may see, in the order in which they were asked",
	}, service.View.ListInputs)
	readAfter(s, op{
		path:    "/api/inputs/{id}",
		name:    "input-get",
		summary: "A question, after its answer if that is waited for",
	}, s.AwaitAnswer, service.View.GetInput)
	read(
		s,
		op{path: "/api/inbox", name: "inbox", summary: "All that needs a person, longest wait first"},
		service.View.ListInbox,
	)
}

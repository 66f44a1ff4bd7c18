package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) queueRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/queues",
		Name:    "queue-names",
		Summary: "The queues that the caller may see, in order of creation",
	}, service.View.ListQueues)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/queues/{name}",
		Name:    "queue-list",
		Summary: "A queue with its items",
	}, service.View.GetQueue)
	route.Read(s.mount(), route.Route{
		Path:    "/api/queues/{name}/top",
		Name:    "queue-next",
		Summary: "The next item of a queue that may be started",
	}, service.View.GetQueueTop)
}

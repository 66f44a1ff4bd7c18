package compat

import (
	"net/http"

	"maestro/api/route"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) queueRoutes() {
	route.Read(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}/queue/items",
		Name:    "session-queue-items",
		Summary: "The items of the queue that a session pulls from",
	}, getSessionQueueItems)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/start",
		Name:    "queue-start",
		Summary: "Start the next item",
	}}, s.startItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/complete",
		Name:    "queue-complete",
		Summary: "Complete the item in hand",
	}}, s.completeItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/fail",
		Name:    "queue-fail",
		Summary: "Fail the item in hand",
		Body:    failReason{},
	}, row: "queue:fail"}, s.failItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/skip",
		Name:    "queue-skip",
		Summary: "Skip the item in hand, or the next one",
	}}, s.skipItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/push",
		Name:    "queue-push",
		Summary: "Put a task at the end",
		Body:    pushedTask{},
	}, row: "queue:push"}, s.pushItem)
}

type queueItems struct {
	Items     []projections.ItemView `json:"items"`
	ItemsMore int                    `json:"itemsMore,omitempty"`
	Stats     projections.QueueStats `json:"stats"`
}

func getSessionQueueItems(v service.View, in *wire.SessionID) (queueItems, error) {
	_, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return queueItems{}, err
	}
	items, more := v.ItemViews(q, nil)
	return queueItems{items, more, q.Stats}, nil
}

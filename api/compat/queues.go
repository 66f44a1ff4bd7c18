package compat

import (
	"net/http"

	"maestro/api/route"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) queueReads() {
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/sessions/{id}/queue",
		Name:    "session-queue",
		Summary: "The queue that a session pulls from",
	}, getSessionQueue)
}

func (s *compat) queueRoutes() {
	route.ReadParts(s.server.Server, route.Route{
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
		Summary: "Complete the item that a session holds",
	}}, s.completeItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/fail",
		Name:    "queue-fail",
		Summary: "Fail the item that a session holds",
		Body:    failReason{},
	}, row: "queue:fail"}, s.failItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/skip",
		Name:    "queue-skip",
		Summary: "Skip the item that a session holds, or else the next one",
	}}, s.skipItem)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/queue/push",
		Name:    "queue-push",
		Summary: "Push a task to the end of the queue",
		Body:    pushedTask{},
	}, row: "queue:push"}, s.pushItem)
}

// SessionQueue shows a session's queue as older clients know it. Our own clients read the [wire.SessionQueue] of it.
type SessionQueue struct {
	Queue SessionQueueBody       `json:"queue"`
	Stats projections.QueueStats `json:"stats"`
}

// SessionQueueBody is the queue that a session pulls from, with its items.
type SessionQueueBody struct {
	SessionID string          `json:"sessionId"`
	Strategy  events.Strategy `json:"strategy"`
	wire.SessionItems
	CurrentIndex int   `json:"currentIndex"`
	CreatedAt    int64 `json:"createdAt"`
	UpdatedAt    int64 `json:"updatedAt"`
	TrustReports bool  `json:"trustReports"`
	MaxAttempts  int   `json:"maxAttempts"`
	Ready        int   `json:"ready"`
	Waiting      int   `json:"waiting"`
}

func getSessionQueue(v service.View, in *wire.SessionQueueOf) (func() (SessionQueue, error), error) {
	x, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return nil, err
	}
	items, err := v.GetSessionQueue(in)
	if err != nil {
		return nil, err
	}
	shown := v.QueueView(q)
	return func() (SessionQueue, error) {
		listed, err := items()
		body := SessionQueueBody{
			SessionID:    x.ID,
			Strategy:     x.Strategy,
			SessionItems: listed.Queue,
			CurrentIndex: -1,
			CreatedAt:    q.CreatedAt,
			UpdatedAt:    q.UpdatedAt,
			TrustReports: q.TrustReports,
			MaxAttempts:  q.MaxAttempts,
			Ready:        shown.Ready,
			Waiting:      shown.Waiting,
		}
		for i, item := range body.Items {
			if item.Status == events.ItemProcessing && item.SessionID == x.ID {
				body.CurrentIndex = i
			}
		}
		return SessionQueue{Queue: body, Stats: q.Stats}, err
	}, nil
}

type queueItems struct {
	Items     []projections.ItemView `json:"items"`
	ItemsMore int                    `json:"itemsMore,omitempty"`
	Stats     projections.QueueStats `json:"stats"`
}

func getSessionQueueItems(v service.View, in *wire.SessionID) (func() (queueItems, error), error) {
	_, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return nil, err
	}
	items := v.ListItems(q, "")
	return func() (queueItems, error) {
		views, more, err := items()
		return queueItems{views, more, q.Stats}, err
	}, nil
}

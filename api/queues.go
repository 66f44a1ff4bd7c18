package api

import (
	"net/http"

	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

type queueItems struct {
	Items []projections.ItemView `json:"items"`
	Stats projections.QueueStats `json:"stats"`
}

func (s *server) queueRoutes() {
	read(s, op{
		path:    "/api/queues",
		name:    "queue-names",
		summary: "The queues that the caller may see, in order of creation",
	}, service.View.ListQueues)
	read(
		s,
		op{path: "/api/queues/{name}", name: "queue-list", summary: "A queue with its items"},
		service.View.GetQueue,
	)
	read(s, op{
		path:    "/api/sessions/{id}/queue",
		name:    "session-queue",
		summary: "The queue that a session pulls from",
	}, getSessionQueue)
	read(s, op{
		path:    "/api/sessions/{id}/queue/items",
		name:    "session-queue-items",
		summary: "The items of the queue that a session pulls from",
	}, getSessionQueueItems)
	read(s, op{
		path:    "/api/sessions/{id}/queue/top",
		name:    "queue-top",
		summary: "The next item that may be started",
	}, service.View.GetQueueTop)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/start",
		name:    "queue-start",
		summary: "Start the next item",
	}, s.startItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/complete",
		name:    "queue-complete",
		summary: "Complete the item in hand",
	}, s.completeItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/fail",
		name:    "queue-fail",
		summary: "Fail the item in hand",
		body:    failReason{},
		row:     "queue:fail",
	}, s.failItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/skip",
		name:    "queue-skip",
		summary: "Skip the item in hand, or the next one",
	}, s.skipItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/push",
		name:    "queue-push",
		summary: "Put a task at the end",
		body:    pushedTask{},
		row:     "queue:push",
	}, s.pushItem)
}

func getSessionQueue(v service.View, in *wire.SessionID) (wire.SessionQueue, error) {
	x, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return wire.SessionQueue{}, err
	}
	shown := v.QueueView(q)
	body := wire.SessionQueueBody{
		SessionID:    x.ID,
		Strategy:     x.Strategy,
		Items:        v.ItemViews(q),
		CurrentIndex: -1,
		CreatedAt:    q.CreatedAt,
		UpdatedAt:    q.UpdatedAt,
		Name:         q.Name,
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
	return wire.SessionQueue{Queue: body, Stats: q.Stats}, nil
}

func getSessionQueueItems(v service.View, in *wire.SessionID) (queueItems, error) {
	_, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return queueItems{}, err
	}
	return queueItems{v.ItemViews(q), q.Stats}, nil
}

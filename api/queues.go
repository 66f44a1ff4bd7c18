package api

import (
	"net/http"

	"maestro/events"
	"maestro/projections"
	"maestro/service"
)

// sessionQueue shows a session's queue as older clients know it, with more members.
type sessionQueue struct {
	Queue sessionQueueBody       `json:"queue"`
	Stats projections.QueueStats `json:"stats"`
}

type sessionQueueBody struct {
	SessionID    string                 `json:"sessionId"`
	Strategy     events.Strategy        `json:"strategy"`
	Items        []projections.ItemView `json:"items"`
	CurrentIndex int                    `json:"currentIndex"`
	CreatedAt    int64                  `json:"createdAt"`
	UpdatedAt    int64                  `json:"updatedAt"`
	Name         string                 `json:"name"`
	TrustReports bool                   `json:"trustReports"`
	MaxAttempts  int                    `json:"maxAttempts"`
	Ready        int                    `json:"ready"`
	Waiting      int                    `json:"waiting"`
}

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

func getSessionQueue(v service.View, in *service.SessionID) (sessionQueue, error) {
	x, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return sessionQueue{}, err
	}
	shown := v.QueueView(q)
	body := sessionQueueBody{
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
	return sessionQueue{body, q.Stats}, nil
}

func getSessionQueueItems(v service.View, in *service.SessionID) (queueItems, error) {
	_, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return queueItems{}, err
	}
	return queueItems{v.ItemViews(q), q.Stats}, nil
}

package api

import (
	"net/http"

	"maestro/events"
	"maestro/projections"
)

type queueFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
}

type queueName struct {
	Name      string `path:"name" doc:"the queue"`
	ProjectID string `query:"projectId" doc:"its project; a session's own if absent"`
	Status    string `query:"status" doc:"only items with this status"`
}

// queueBody shows a queue with its items.
type queueBody struct {
	projections.QueueView
	Items []projections.ItemView `json:"items"`
}

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

// queueTop is the next item, also while another is in hand.
type queueTop struct {
	HasMore bool                  `json:"hasMore"`
	Item    *projections.ItemView `json:"item"`
	Message string                `json:"message,omitempty"`
	// Held is the item that the session has in hand.
	Held *projections.ItemView `json:"held,omitempty"`
	// PassedOver counts the items before it that wait for something, Waiting all that do.
	PassedOver int    `json:"passedOver"`
	Waiting    int    `json:"waiting"`
	Queue      string `json:"queue"`
}

func (s *server) queueRoutes() {
	read(s, op{
		path:    "/api/queues",
		name:    "queue-names",
		summary: "The queues that the caller may see, in order of creation",
	}, listQueues)
	read(s, op{path: "/api/queues/{name}", name: "queue-list", summary: "A queue with its items"}, getQueue)
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
	}, getQueueTop)
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

func listQueues(v view, in *queueFilter) ([]projections.QueueView, error) {
	projects, err := v.projects("queue:status", in.ProjectID)
	if err != nil {
		return nil, err
	}
	views := []projections.QueueView{}
	for _, p := range projects {
		for q := range v.Queues(p.ID) {
			views = append(views, v.QueueView(q))
		}
	}
	return views, nil
}

func getQueue(v view, in *queueName) (queueBody, error) {
	project := in.ProjectID
	if project == "" {
		project = v.call.by.Project
	}
	if err := v.permit("queue:list", project); err != nil {
		return queueBody{}, err
	}
	q := v.Queue(project, in.Name)
	if q == nil {
		return queueBody{}, notFound("Queue", in.Name)
	}
	body := queueBody{v.QueueView(q), []projections.ItemView{}}
	for _, item := range v.ItemViews(q) {
		if in.Status == "" || in.Status == string(item.Status) {
			body.Items = append(body.Items, item)
		}
	}
	return body, nil
}

// sessionQueue gives a session with the queue that it pulls from. Its answers come in the order that older clients
// know.
func (v view) sessionQueue(row, id string) (*projections.Session, *projections.Queue, error) {
	x := v.Session(id)
	// Without a credential the path is all that is known of the caller, who then learns what older servers told.
	if v.call.anonymous && x != nil && x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	x, err := v.session(row, id)
	if err != nil {
		return nil, nil, err
	}
	if x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	q := v.Queue(x.ProjectID, x.Queue)
	if x.Queue == "" || q == nil {
		return nil, nil, notFound("Queue", x.ID)
	}
	return x, q, nil
}

func otherStrategy(session string) error {
	return invalid("", "Session %s does not use queue strategy", session)
}

func getSessionQueue(v view, in *sessionID) (sessionQueue, error) {
	x, q, err := v.sessionQueue("queue:list", in.ID)
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

func getSessionQueueItems(v view, in *sessionID) (queueItems, error) {
	_, q, err := v.sessionQueue("queue:list", in.ID)
	if err != nil {
		return queueItems{}, err
	}
	return queueItems{v.ItemViews(q), q.Stats}, nil
}

const queueEmpty = "Queue is empty - all tasks processed"

func getQueueTop(v view, in *sessionID) (queueTop, error) {
	x, q, err := v.sessionQueue("queue:top", in.ID)
	if err != nil {
		return queueTop{}, err
	}
	top := queueTop{Queue: q.Name, Waiting: v.QueueView(q).Waiting}
	if held := v.Holds(x); held != nil {
		top.Held = new(v.ItemView(q, held))
	}
	item, passedOver := v.Top(q)
	top.PassedOver = passedOver
	if item != nil {
		top.Item, top.HasMore = new(v.ItemView(q, item)), true
		return top, nil
	}
	top.Message = queueEmpty
	if q.Stats.Queued > 0 {
		top.Message = "Nothing can be started now: what is queued waits for something"
	}
	return top, nil
}

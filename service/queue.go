package service

import (
	"maestro/events"
	"maestro/projections"
)

// QueueFilter selects queues.
type QueueFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
}

// QueueName names a queue, and selects its items.
type QueueName struct {
	Name      string `path:"name" doc:"the queue"`
	ProjectID string `query:"projectId" doc:"its project; a session's own if absent"`
	Status    string `query:"status" doc:"only items with this status"`
}

// QueueBody shows a queue with its items.
type QueueBody struct {
	projections.QueueView
	Items []projections.ItemView `json:"items"`
}

// QueueTop is the next item, also while another is in hand.
type QueueTop struct {
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

// ListQueues gives the queues that the caller may see, in order of creation.
func (v View) ListQueues(in *QueueFilter) ([]projections.QueueView, error) {
	projects, err := v.PermitProjects("queue:status", in.ProjectID)
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

// GetQueue gives a queue with its items.
func (v View) GetQueue(in *QueueName) (QueueBody, error) {
	project := in.ProjectID
	if project == "" {
		project = v.Caller.By.Project
	}
	if err := v.Permit("queue:list", project); err != nil {
		return QueueBody{}, err
	}
	q := v.Queue(project, in.Name)
	if q == nil {
		return QueueBody{}, NotFound("Queue", in.Name)
	}
	body := QueueBody{v.QueueView(q), []projections.ItemView{}}
	for _, item := range v.ItemViews(q) {
		if in.Status == "" || in.Status == string(item.Status) {
			body.Items = append(body.Items, item)
		}
	}
	return body, nil
}

// SessionQueue gives a session with the queue that it pulls from. Its answers come in the order that older clients
// know.
func (v View) SessionQueue(row, id string) (*projections.Session, *projections.Queue, error) {
	x := v.Session(id)
	// Without a credential the path is all that is known of the caller, who then learns what older servers told.
	if v.Caller.Anonymous && x != nil && x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	x, err := v.PermitSession(row, id)
	if err != nil {
		return nil, nil, err
	}
	if x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	q := v.Queue(x.ProjectID, x.Queue)
	if x.Queue == "" || q == nil {
		return nil, nil, NotFound("Queue", x.ID)
	}
	return x, q, nil
}

func otherStrategy(session string) error {
	return Invalid("", "Session %s does not use queue strategy", session)
}

// QueueEmpty is what older clients are told of a queue without items.
const QueueEmpty = "Queue is empty - all tasks processed"

// GetQueueTop gives the next item of the queue that a session pulls from.
func (v View) GetQueueTop(in *SessionID) (QueueTop, error) {
	x, q, err := v.SessionQueue("queue:top", in.ID)
	if err != nil {
		return QueueTop{}, err
	}
	top := QueueTop{Queue: q.Name, Waiting: v.QueueView(q).Waiting}
	if held := v.Holds(x); held != nil {
		top.Held = new(v.ItemView(q, held))
	}
	item, passedOver := v.Top(q)
	top.PassedOver = passedOver
	if item != nil {
		top.Item, top.HasMore = new(v.ItemView(q, item)), true
		return top, nil
	}
	top.Message = QueueEmpty
	if q.Stats.Queued > 0 {
		top.Message = "Nothing can be started now: what is queued waits for something"
	}
	return top, nil
}

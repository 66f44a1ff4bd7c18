package service

import (
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// ListQueues gives the queues that the caller may see, in order of creation.
func (v View) ListQueues(in *wire.QueueFilter) ([]projections.QueueView, error) {
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
func (v View) GetQueue(in *wire.QueueName) (wire.QueueBody, error) {
	project := in.ProjectID
	if project == "" {
		project = v.Caller.By.Project
	}
	if err := v.Permit("queue:list", project); err != nil {
		return wire.QueueBody{}, err
	}
	q := v.Queue(project, in.Name)
	if q == nil {
		return wire.QueueBody{}, NotFound("Queue", in.Name)
	}
	items, more := v.ItemViews(q, func(item *projections.Item) bool {
		return in.Status == "" || in.Status == string(item.Status)
	})
	return wire.QueueBody{QueueView: v.QueueView(q), Items: items, ItemsMore: more}, nil
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

// GetSessionQueue gives the queue that a session pulls from, with its items.
func (v View) GetSessionQueue(in *wire.SessionID) (wire.SessionQueue, error) {
	x, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return wire.SessionQueue{}, err
	}
	shown := v.QueueView(q)
	items, more := v.ItemViews(q, nil)
	body := wire.SessionQueueBody{
		SessionID:    x.ID,
		Strategy:     x.Strategy,
		Items:        items,
		ItemsMore:    more,
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

func otherStrategy(session string) error {
	return Invalid("", "Session %s does not use queue strategy", session)
}

// QueueEmpty is what older clients are told of a queue without items.
const QueueEmpty = "Queue is empty - all tasks processed"

// GetQueueTop gives the next item of the queue that a session pulls from.
func (v View) GetQueueTop(in *wire.SessionID) (wire.QueueTop, error) {
	x, q, err := v.SessionQueue("queue:top", in.ID)
	if err != nil {
		return wire.QueueTop{}, err
	}
	top := wire.QueueTop{Queue: q.Name, Waiting: v.QueueView(q).Waiting}
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

package service

import (
	"cmp"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// ListQueues gives the queues that the caller may see, in order of creation. What it returns finds them when the state
// may move.
func (v View) ListQueues(in *wire.QueueFilter) (func() ([]projections.QueueView, error), error) {
	projects, err := v.PermitProjects("queue:status", in.ProjectID)
	if err != nil {
		return nil, err
	}
	return func() ([]projections.QueueView, error) {
		views := []projections.QueueView{}
		rest, err := projects.ranges(v, PageOf{}, func(v View, project string) []string {
			return v.QueueNames(project)
		})
		if err != nil {
			return nil, err
		}
		err = v.listing(func(v View, until uint64) (done bool) {
			return eachOf(v, &rest, until, func(project, name string) (order int64, shown bool) {
				if q := v.Queue(project, name); q != nil {
					views = append(views, v.QueueView(q))
				}
				return 0, true
			})
		})
		return views, err
	}, nil
}

// permitQueue gives a queue that the caller may see by a row of the table; a session's own project is meant if none is
// named.
func (v View) permitQueue(row, project, name string) (*projections.Queue, error) {
	project = cmp.Or(project, v.Caller.By.Project)
	if err := v.Permit(row, project); err != nil {
		return nil, err
	}
	q := v.Queue(project, name)
	if q == nil {
		return nil, NotFound("Queue", name)
	}
	return q, nil
}

// GetQueue gives a queue with its items. What it returns gathers them when the state may move.
func (v View) GetQueue(in *wire.QueueName) (func() (wire.QueueBody, error), error) {
	q, err := v.permitQueue("queue:list", in.ProjectID, in.Name)
	if err != nil {
		return nil, err
	}
	shown, items := v.QueueView(q), v.ListItems(q, in.Status)
	return func() (wire.QueueBody, error) {
		views, more, err := items()
		return wire.QueueBody{QueueView: shown, Items: views, ItemsMore: more}, err
	}, nil
}

// ListItems begins to gather the items of a queue with a status, all if it is "". What it returns goes on when the
// state may move; more counts the items that are left out.
func (v View) ListItems(
	q *projections.Queue, status string,
) func() (views []projections.ItemView, more int, err error) {
	search := v.SearchItems(q, withStatus(status))
	on := func(v View, until uint64) (done bool) { return v.ItemsOn(search, until) }
	return func() (views []projections.ItemView, more int, err error) {
		if err = v.listing(on); err == nil {
			search.Choose()
			err = v.listing(on)
		}
		views, more = search.Views()
		return views, more, err
	}
}

// withStatus selects the items with a status, all if it is "".
func withStatus(status string) func(*projections.Item) bool {
	if status == "" {
		return nil
	}
	return func(item *projections.Item) bool { return status == string(item.Status) }
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

// GetSessionQueue gives the queue that a session pulls from, with its items. What it returns gathers them when the
// state may move.
func (v View) GetSessionQueue(in *wire.SessionQueueOf) (func() (wire.SessionQueue, error), error) {
	_, q, err := v.SessionQueue("queue:list", in.ID)
	if err != nil {
		return nil, err
	}
	items := v.ListItems(q, in.Status)
	return func() (wire.SessionQueue, error) {
		views, more, err := items()
		return wire.SessionQueue{Queue: wire.SessionItems{Name: q.Name, Items: views, ItemsMore: more}}, err
	}, nil
}

func otherStrategy(session string) error {
	return Invalid("", "Session %s does not use queue strategy", session)
}

// queueEmpty is what all clients are told of a queue in which nothing is left to do.
const queueEmpty = "Queue is empty - all tasks processed"

// GetSessionQueueTop gives the next item of the queue that a session pulls from, and the one that it holds.
func (v View) GetSessionQueueTop(in *wire.SessionID) (wire.QueueTop, error) {
	x, q, err := v.SessionQueue("queue:top", in.ID)
	if err != nil {
		return wire.QueueTop{}, err
	}
	top := v.topOf(q)
	if held := v.Holds(x); held != nil {
		top.Held, top.Work = new(v.ItemView(q, held)), v.workOf(held.TaskID)
	}
	return top, nil
}

// GetQueueTop gives the next item of a queue.
func (v View) GetQueueTop(in *wire.QueueOf) (wire.QueueTop, error) {
	q, err := v.permitQueue("queue:top", in.ProjectID, in.Name)
	if err != nil {
		return wire.QueueTop{}, err
	}
	return v.topOf(q), nil
}

func (v View) topOf(q *projections.Queue) wire.QueueTop {
	view := v.QueueView(q)
	top := wire.QueueTop{Queue: q.Name, Waiting: view.Waiting, Stats: view.Stats}
	item, passedOver := v.Top(q)
	top.PassedOver = passedOver
	switch {
	case item != nil:
		top.Item, top.HasMore, top.Work = new(v.ItemView(q, item)), true, v.workOf(item.TaskID)
	case q.Stats.Queued > 0:
		top.Message = "Nothing can be started now: what is queued waits for something"
	default:
		top.Message = queueEmpty
	}
	return top
}

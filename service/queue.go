package service

import (
	"cmp"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// ListQueues returns the queues that the caller may see, in order of creation. The returned function finds them, and
// runs without the state.
func (v View) ListQueues(in *wire.QueueFilter) (func() (Page[projections.QueueView], error), error) {
	projects, err := v.PermitProjects("queue:status", in.ProjectID)
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	return func() (Page[projections.QueueView], error) {
		rest, err := projects.ranges(v, PageOf{}, func(v View, project string) []string {
			return v.QueueNames(project)
		})
		if err != nil {
			return Page[projections.QueueView]{}, err
		}
		return pageOf(v, asked, rest, func(v View, project, name string) (view projections.QueueView, shown bool) {
			q := v.Queue(project, name)
			if q == nil {
				return view, false
			}
			return v.QueueView(q), true
		})
	}, nil
}

// permitQueue returns a queue that the caller may see by a row of the table. Without a project it uses a session's own.
func (v View) permitQueue(row, project, name string) (*projections.Queue, error) {
	project = cmp.Or(project, v.Caller.By.Project)
	if err := v.Permit(row, project); err != nil {
		return nil, err
	}
	if project == "" {
		return nil, InvalidRequest("/projectId", "projectId is required: each project has its own queues")
	}
	q := v.Queue(project, name)
	if q == nil {
		return nil, commands.NoQueue(project, name)
	}
	return q, nil
}

// GetQueue returns a queue with its items. The returned function collects them, and runs without the state.
func (v View) GetQueue(in *wire.QueueName) (func() (QueuePage, error), error) {
	q, err := v.permitQueue("queue:list", in.ProjectID, in.Name)
	if err != nil {
		return nil, err
	}
	items, err := v.ListItems(q, in.Status)
	if err != nil {
		return nil, err
	}
	shown := v.QueueView(q)
	return func() (QueuePage, error) {
		page, err := items()
		return QueuePage{shown, page}, err
	}, nil
}

// withStatus selects the items with a status, all if it is "".
func withStatus(status string) func(*projections.Item) bool {
	if status == "" {
		return nil
	}
	return func(item *projections.Item) bool { return status == string(item.Status) }
}

// SessionQueue returns a session with the queue that it pulls from.
func (v View) SessionQueue(row, id string) (*projections.Session, *projections.Queue, error) {
	x, err := v.PermitSession(row, id)
	if err != nil {
		return nil, nil, err
	}
	if x.Strategy != events.StrategyQueue {
		return nil, nil, OtherStrategy(id)
	}
	q := v.Queue(x.ProjectID, x.Queue)
	switch {
	case x.Queue == "":
		return nil, nil, NotFound("Queue", x.ID)
	case q == nil:
		return nil, nil, commands.QueueDeleted(x)
	}
	return x, q, nil
}

// OtherStrategy refuses a command about the queue of a session that pulls from none.
func OtherStrategy(session string) error {
	return Invalid("", "Session %s does not use queue strategy", session)
}

// GetSessionQueueTop returns the next item of the queue that a session pulls from, and the item that it holds. The
// returned function reads what sessions before it said about that item, and runs without the state.
func (v View) GetSessionQueueTop(in *wire.SessionID) (func() wire.QueueTop, error) {
	x, q, err := v.SessionQueue("queue:top", in.ID)
	if err != nil {
		return nil, err
	}
	top := v.topOf(q)
	var before *earlier
	if held := v.Holds(x); held != nil {
		top.Held, top.Work = new(v.ItemView(q, held)), v.workOf(held)
		if t := v.Task(held.TaskID); t != nil && v.Caller.readsMail(x) {
			before = v.earlierOn(t, x.ID)
		}
	}
	return func() wire.QueueTop {
		if before != nil {
			top.Work.Earlier = before.words(top.Work)
		}
		return top
	}, nil
}

// GetQueueTop returns the next item of a queue.
func (v View) GetQueueTop(in *wire.QueueOf) (wire.QueueTop, error) {
	q, err := v.permitQueue("queue:top", in.ProjectID, in.Name)
	if err != nil {
		return wire.QueueTop{}, err
	}
	return v.topOf(q), nil
}

func (v View) topOf(q *projections.Queue) wire.QueueTop {
	view := v.QueueView(q)
	top := wire.QueueTop{
		Queue:   q.Name,
		Waiting: view.Waiting,
		Over:    view.Over,
		Stats:   view.Stats,
	}
	item, passedOver := v.Top(q)
	top.PassedOver = passedOver
	switch {
	case item != nil:
		top.Item, top.HasMore, top.Work = new(v.ItemView(q, item)), true, v.workOf(item)
	default:
		top.Message = nothingNext(q.Stats, view.Over)
	}
	return top
}

// nothingNext says why a queue has no item to start next. over counts the queued items whose tasks are over.
func nothingNext(n projections.QueueStats, over int) string {
	switch {
	case n == projections.QueueStats{}:
		return "The queue has no items yet"
	case n.Queued > over:
		return "Nothing can be started now"
	case n.Processing == 1:
		return "No item is left to start; 1 item in progress"
	case n.Processing > 1:
		return "No item is left to start; " + strconv.Itoa(n.Processing) + " items in progress"
	}
	return "The queue is finished: all its items have ended"
}

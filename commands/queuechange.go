package commands

import (
	"slices"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// MoveItem moves a queued item within its queue: to the end by default.
type MoveItem struct {
	noTexts
	ProjectRef
	Queue  string `json:"queue,omitempty" doc:"the queue; required when the task is in several"`
	TaskID string `json:"taskId" doc:"the task"`
	First  bool   `json:"first,omitempty" doc:"put it before all others"`
	Before string `json:"before,omitempty" flag:"before <taskId>" doc:"put it before the item of this task"`
}

// RemoveItem takes an item that nobody holds out of its queue.
type RemoveItem struct {
	noTexts
	ProjectRef
	Queue  string `json:"queue,omitempty" doc:"the queue; required when the task is in several"`
	TaskID string `json:"taskId" doc:"the task"`
}

// DeleteQueue deletes a queue that has no queued or held item.
type DeleteQueue struct {
	noTexts
	ProjectRef
	Queue string `json:"queue" arg:"name" doc:"the name of the queue"`
}

// ID implements Command.
func (*MoveItem) ID() string { return "queue:move" }

// ID implements Command.
func (*RemoveItem) ID() string { return "queue:remove" }

// ID implements Command.
func (*DeleteQueue) ID() string { return "queue:delete" }

func (x *MoveItem) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

func (x *RemoveItem) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

func (x *DeleteQueue) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

// itemMeant returns the item of a task in the named queue, or in the only one that it is in.
func itemMeant(s *projections.State, project, queue, task string) (*projections.Item, error) {
	if err := ValidID("/taskId", task); err != nil {
		return nil, err
	}
	if s.TaskEver(task) == nil {
		return nil, notFound("Task", task)
	}
	if queue == "" {
		var err error
		if queue, err = onlyQueueOf(s, task); err != nil {
			return nil, err
		}
	}
	return itemOf(s, project, queue, task)
}

// onlyQueueOf returns the queue that a task is in, or the refusal if it is in none or in several.
func onlyQueueOf(s *projections.State, task string) (string, error) {
	items := s.QueuesOf(task)
	switch len(items) {
	case 0:
		refusal := invalid("/queue", "Task '%s' is in no queue", task)
		refusal.Next = "add it to one with `maestro queue push " + task +
			"`; `maestro queue status` shows the queues"
		return "", refusal
	case 1:
		return items[0].Queue, nil
	}
	var names []string
	for _, item := range items[:min(len(items), belowNamed)] {
		names = append(names, item.Queue)
	}
	refusal := invalid("/queue", "Task '%s' is in %d queues", task, len(items))
	refusal.Next = "name the one that you mean: " + someOf(names, len(items))
	return "", refusal
}

// Decide implements Command.
func (x *MoveItem) Decide(s *projections.State, c Call) (events.Data, error) {
	if x.First && x.Before != "" {
		return nil, invalid("/before", "'first' and 'before' cannot be used together")
	}
	item, err := itemMeant(s, c.Project, x.Queue, x.TaskID)
	if err != nil {
		return nil, err
	}
	if err := queuedStill(item); err != nil {
		return nil, err
	}
	if x.Before != "" {
		if err := x.mayStandBefore(s, item); err != nil {
			return nil, err
		}
	}
	q := s.Queue(item.ProjectID, item.Queue)
	if n := int64(q.Stats.Queued); n > LimitMoved.Value {
		return nil, LimitMoved.exceeded("/taskId", "queue '"+q.Name+"'", n)
	}
	line := s.Line(q)
	at := slices.IndexFunc(line, func(i *projections.Item) bool { return i.TaskID == item.TaskID })
	moved := &events.QueueItemMoved{Queue: q.Name, TaskID: item.TaskID, Before: x.Before}
	if x.First {
		moved.Before = line[0].TaskID
	}
	next := "" // what it precedes now
	if at+1 < len(line) {
		next = line[at+1].TaskID
	}
	if moved.Before == next || moved.Before == item.TaskID {
		return nil, nil
	}
	return moved, nil
}

// mayStandBefore refuses a position before an item that cannot be preceded.
func (x *MoveItem) mayStandBefore(s *projections.State, item *projections.Item) error {
	if err := ValidID("/before", x.Before); err != nil {
		return err
	}
	if x.Before == item.TaskID {
		return invalid("/before", "an item cannot be placed before itself")
	}
	other, err := itemOf(s, item.ProjectID, item.Queue, x.Before)
	if err != nil {
		return err
	}
	return queuedStill(other)
}

// queuedStill refuses an item that is not queued.
func queuedStill(item *projections.Item) error {
	if item.Status == events.ItemQueued {
		return nil
	}
	return &Refusal{
		Code:    CodeConflict,
		Message: "Task " + item.TaskID + " is " + string(item.Status) + " in queue " + item.Queue,
		Why:     "only queued items have a place to move",
		Next:    "see `maestro queue list --queue " + item.Queue + "`",
	}
}

func (x *MoveItem) from(e *events.Event, d *events.QueueItemMoved) bool {
	*x = MoveItem{
		ProjectRef: inProject(e),
		Queue:      d.Queue,
		TaskID:     d.TaskID,
		Before:     d.Before,
	}
	return true
}

// Decide implements Command.
func (x *RemoveItem) Decide(s *projections.State, c Call) (events.Data, error) {
	item, err := itemMeant(s, c.Project, x.Queue, x.TaskID)
	if err != nil {
		return nil, err
	}
	if item.Status == events.ItemProcessing {
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session '" + item.SessionID + "' holds task " + item.TaskID + " in queue " + item.Queue,
			Why:     "an item that is held stays until its session finishes it or ends",
			Next: "run `maestro queue skip --session " + item.SessionID + " --task " + item.TaskID +
				"`, then remove it",
		}
	}
	return &events.QueueItemRemoved{Queue: item.Queue, TaskID: item.TaskID}, nil
}

func (x *RemoveItem) from(e *events.Event, d *events.QueueItemRemoved) bool {
	*x = RemoveItem{ProjectRef: inProject(e), Queue: d.Queue, TaskID: d.TaskID}
	return true
}

// Decide implements Command.
func (x *DeleteQueue) Decide(s *projections.State, c Call) (events.Data, error) {
	if _, err := project(s, "/project", c.Project); err != nil {
		return nil, err
	}
	if err := ValidID("/queue", x.Queue); err != nil {
		return nil, err
	}
	q := s.Queue(c.Project, x.Queue)
	switch {
	case q == nil:
		return nil, NoQueue(c.Project, x.Queue)
	case q.SessionID != "":
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Queue '" + q.Name + "' is the own queue of a session",
			Why:     "it belongs to that session",
			Next:    "remove its items with `maestro queue remove`, or end the session",
		}
	case q.Stats.Queued > 0 || q.Stats.Processing > 0:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Queue '" + q.Name + "' is not empty",
			Why:     "items are queued or held",
			Next: "remove them with `maestro queue remove`; see `maestro queue list --queue " +
				safetext.Quoted(q.Name) + "`",
		}
	case int64(q.Stats.Total) > LimitDeletedItems.Value:
		return nil, LimitDeletedItems.exceeded("/queue", "queue '"+q.Name+"'", int64(q.Stats.Total))
	}
	return &events.QueueDeleted{Queue: q.Name}, nil
}

func (x *DeleteQueue) from(e *events.Event, d *events.QueueDeleted) bool {
	*x = DeleteQueue{ProjectRef: inProject(e), Queue: d.Queue}
	return true
}

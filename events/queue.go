package events

import "fmt"

// QueueItemStatus is the status of a queue item.
type QueueItemStatus string

// The statuses of a queue item; all but the last are known to older clients.
const (
	ItemQueued      QueueItemStatus = "queued"
	ItemProcessing  QueueItemStatus = "processing"
	ItemCompleted   QueueItemStatus = "completed"
	ItemFailed      QueueItemStatus = "failed"
	ItemSkipped     QueueItemStatus = "skipped"
	ItemQuarantined QueueItemStatus = "quarantined"
)

// DefaultMaxAttempts is the number of starts after which an item is quarantined instead of being returned once more.
const DefaultMaxAttempts = 3

// QueueCreated: sessions of a project may pull from a queue of this name.
type QueueCreated struct {
	Queue        string `json:"queue" doc:"its name, the only one of its project"`
	TrustReports bool   `json:"trustReports,omitempty" doc:"a dependency is also satisfied by sessionStatus completed"`
	MaxAttempts  int    `json:"maxAttempts" doc:"starts of an item before it is quarantined"`
}

// QueueItemPushed: a task was appended to a queue.
type QueueItemPushed struct {
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the task"`
}

// QueueItemStarted: a session holds an item, whose task is in progress and reported as working.
type QueueItemStarted struct {
	Queue      string `json:"queue" doc:"the queue"`
	TaskID     string `json:"taskId" doc:"the item's task"`
	SessionID  string `json:"sessionId" doc:"who holds it from now on"`
	Attempt    int    `json:"attempt" doc:"how often the item was started, this time included"`
	PassedOver int    `json:"passedOver,omitempty" doc:"items before it that wait for something"`
}

// QueueItemCompleted: the holder reports that its item is done; the task's own status stays.
type QueueItemCompleted struct {
	Queue     string `json:"queue" doc:"the queue"`
	TaskID    string `json:"taskId" doc:"the item's task"`
	SessionID string `json:"sessionId" doc:"who held it"`
}

// QueueItemFailed: the holder reports that its item failed.
type QueueItemFailed struct {
	Queue     string `json:"queue" doc:"the queue"`
	TaskID    string `json:"taskId" doc:"the item's task"`
	SessionID string `json:"sessionId" doc:"who held it"`
	Reason    string `json:"reason,omitempty" doc:"why"`
}

// QueueItemSkipped: an item was skipped. It stays skipped unless it is queued again.
type QueueItemSkipped struct {
	Queue     string `json:"queue" doc:"the queue"`
	TaskID    string `json:"taskId" doc:"the item's task"`
	SessionID string `json:"sessionId" doc:"who skipped it"`
	Held      bool   `json:"held,omitempty" doc:"that session held it; else it was the next one"`
	Reason    string `json:"reason,omitempty" doc:"why"`
}

// QueueItemRequeued: an item that was quarantined, failed or skipped, or completed and its task reopened, is queued
// again at the end, with no attempts.
type QueueItemRequeued struct {
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the item's task"`
	Reason string `json:"reason,omitempty" doc:"why, for whoever starts it next"`
}

// QueueItemReturned: an item's holder ended or was lost, and the item is back at the front of the queue.
type QueueItemReturned struct {
	Queue     string `json:"queue" doc:"the queue"`
	TaskID    string `json:"taskId" doc:"the item's task"`
	SessionID string `json:"sessionId" doc:"who held it"`
	Attempt   int    `json:"attempt" doc:"how often it was started so far"`
	Reason    string `json:"reason" doc:"what became of its holder: lost, stopped, failed or deleted"`
}

// QueueItemQuarantined: an item was started too often without being finished, and waits for a person.
type QueueItemQuarantined struct {
	Queue     string `json:"queue" doc:"the queue"`
	TaskID    string `json:"taskId" doc:"the item's task"`
	SessionID string `json:"sessionId" doc:"who held it last"`
	Attempt   int    `json:"attempt" doc:"how often it was started"`
	Reason    string `json:"reason" doc:"what became of its last holder: lost, stopped, failed or deleted"`
}

// QueueItemMoved: a queued item was moved within its queue.
type QueueItemMoved struct {
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the item's task"`
	Before string `json:"before,omitempty" doc:"the task that it is directly before now; absent: it is the last"`
}

// QueueItemRemoved: an item is no longer in its queue; its task may be pushed again.
type QueueItemRemoved struct {
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the item's task"`
}

// QueueDeleted: a queue and its finished items are removed; its name may be used again.
type QueueDeleted struct {
	Queue string `json:"queue" doc:"the queue"`
}

var queueEvents = []Entry{
	entry[QueueCreated]("Sessions of a project may pull from a queue of this name."),
	entry[QueueItemPushed]("A task was added at the end of a queue."),
	entry[QueueItemStarted]("A session holds an item; its task is in progress and says working."),
	entry[QueueItemCompleted]("The holder says that its item is done."),
	entry[QueueItemFailed]("The holder says that its item failed."),
	entry[QueueItemSkipped]("An item is passed by."),
	entry[QueueItemRequeued]("An item went back to the end of its queue, with no attempts."),
	entry[QueueItemReturned]("An item's holder ended or was lost; the item went back to the front."),
	entry[QueueItemMoved]("A queued item moved to another place in its queue."),
	entry[QueueItemRemoved]("An item is no longer in its queue."),
	entry[QueueDeleted]("A queue is gone; its name may be used again."),
	entry[QueueItemQuarantined]("An item was started too often without an end, and waits for a person."),
}

// EventType implements Data.
func (*QueueCreated) EventType() string { return "maestro.queue.created.v1" }

// EventType implements Data.
func (*QueueItemPushed) EventType() string { return "maestro.queue.item_pushed.v1" }

// EventType implements Data.
func (*QueueItemStarted) EventType() string { return "maestro.queue.item_started.v1" }

// EventType implements Data.
func (*QueueItemCompleted) EventType() string { return "maestro.queue.item_completed.v1" }

// EventType implements Data.
func (*QueueItemFailed) EventType() string { return "maestro.queue.item_failed.v1" }

// EventType implements Data.
func (*QueueItemSkipped) EventType() string { return "maestro.queue.item_skipped.v1" }

// EventType implements Data.
func (*QueueItemRequeued) EventType() string { return "maestro.queue.item_requeued.v1" }

// EventType implements Data.
func (*QueueItemReturned) EventType() string { return "maestro.queue.item_returned.v1" }

// EventType implements Data.
func (*QueueItemQuarantined) EventType() string { return "maestro.queue.item_quarantined.v1" }

// Aggregate implements Data.
func (d *QueueCreated) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemPushed) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemStarted) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemCompleted) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemFailed) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemSkipped) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemRequeued) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemReturned) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemQuarantined) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// EndsItem is implemented by the payloads that end an item without taking it from a session that is gone: its holder,
// or whoever skips it, said so.
type EndsItem interface{ EndedTask() string }

// EndedTask implements EndsItem.
func (d *QueueItemCompleted) EndedTask() string { return d.TaskID }

// EndedTask implements EndsItem.
func (d *QueueItemFailed) EndedTask() string { return d.TaskID }

// EndedTask implements EndsItem.
func (d *QueueItemSkipped) EndedTask() string { return d.TaskID }

// Describe implements Data.
func (d *QueueCreated) Describe() Description {
	return describe("created", "create", named(" queue ", d.Queue, ""))
}

// Describe implements Data.
func (d *QueueItemPushed) Describe() Description {
	return describe("pushed", "push", named(" ", d.TaskID, " it"), named(" to queue ", d.Queue, ""))
}

// Describe implements Data.
func (d *QueueItemStarted) Describe() Description {
	return describe("started", "start",
		named(" ", d.TaskID, " it"), inQueue(d.Queue), named(" for ", d.SessionID, " for it"),
		when(d.Attempt > 1, fmt.Sprintf(", attempt %d", d.Attempt)))
}

// Describe implements Data.
func (d *QueueItemCompleted) Describe() Description {
	return describe("completed", "complete", named(" ", d.TaskID, " it"), inQueue(d.Queue))
}

// Describe implements Data.
func (d *QueueItemFailed) Describe() Description {
	return describe("failed", "fail", named(" ", d.TaskID, " it"), inQueue(d.Queue), prefixed(": ", d.Reason))
}

// Describe implements Data.
func (d *QueueItemSkipped) Describe() Description {
	return describe("skipped", "skip",
		named(" ", d.TaskID, " it"), inQueue(d.Queue), prefixed(": ", d.Reason))
}

// Describe implements Data.
func (d *QueueItemRequeued) Describe() Description {
	return describe("queued", "queue",
		named(" ", d.TaskID, " it"), text(" again"), inQueue(d.Queue), prefixed(": ", d.Reason))
}

// Describe implements Data.
func (d *QueueItemReturned) Describe() Description {
	return describe("gave", "give",
		named(" ", d.TaskID, " it"), text(" back to the front of"), named(" queue ", d.Queue, " the queue"),
		named(": ", d.SessionID, ": it"), text(" is "+d.Reason))
}

// Describe implements Data.
func (d *QueueItemQuarantined) Describe() Description {
	return describe("quarantined", "quarantine", named(" ", d.TaskID, " it"), inQueue(d.Queue),
		text(fmt.Sprintf(" after %d starts", d.Attempt)), named(": ", d.SessionID, ": it"), text(" is "+d.Reason))
}

func (*QueueCreated) sealed()         {}
func (*QueueItemPushed) sealed()      {}
func (*QueueItemStarted) sealed()     {}
func (*QueueItemCompleted) sealed()   {}
func (*QueueItemFailed) sealed()      {}
func (*QueueItemSkipped) sealed()     {}
func (*QueueItemRequeued) sealed()    {}
func (*QueueItemReturned) sealed()    {}
func (*QueueItemQuarantined) sealed() {}

// EventType implements Data.
func (*QueueItemMoved) EventType() string { return "maestro.queue.item_moved.v1" }

// EventType implements Data.
func (*QueueItemRemoved) EventType() string { return "maestro.queue.item_removed.v1" }

// EventType implements Data.
func (*QueueDeleted) EventType() string { return "maestro.queue.deleted.v1" }

// Aggregate implements Data.
func (d *QueueItemMoved) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueItemRemoved) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Aggregate implements Data.
func (d *QueueDeleted) Aggregate() (kind, id string) { return AggregateQueue, d.Queue }

// Describe implements Data.
func (d *QueueItemMoved) Describe() Description {
	if d.Before == "" {
		return describe("moved", "move",
			named(" ", d.TaskID, " it"), text(" to the end of"), named(" queue ", d.Queue, " the queue"))
	}
	return describe("moved", "move",
		named(" ", d.TaskID, " it"), named(" before ", d.Before, " before it"), inQueue(d.Queue))
}

// Describe implements Data.
func (d *QueueItemRemoved) Describe() Description {
	return describe("removed", "remove", named(" ", d.TaskID, " it"), named(" from queue ", d.Queue, ""))
}

// Describe implements Data.
func (d *QueueDeleted) Describe() Description {
	return describe("deleted", "delete", named(" queue ", d.Queue, ""))
}

func (*QueueItemMoved) sealed()   {}
func (*QueueItemRemoved) sealed() {}
func (*QueueDeleted) sealed()     {}

package projections

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"maestro/events"
)

// Queue is the state of a queue without its items. Times are milliseconds since 1970. Immutable.
type Queue struct {
	ProjectID string
	// Name is unique within its project; a session's own queue has the session's id.
	Name string
	// SessionID is the owner of a session's own queue; "" for a named one.
	SessionID    string
	TrustReports bool
	MaxAttempts  int
	CreatedAt    int64
	UpdatedAt    int64
	CreatedBy    string
	// Pushed counts everything ever appended to it.
	Pushed uint64
	Stats  QueueStats
	// Deleted: its name may be used again, for a queue with its own later items.
	Deleted bool `json:",omitempty"`
}

// QueueStats counts a queue's items by status.
type QueueStats struct {
	Total       int `json:"total"`
	Queued      int `json:"queued"`
	Processing  int `json:"processing"`
	Completed   int `json:"completed"`
	Failed      int `json:"failed"`
	Skipped     int `json:"skipped"`
	Quarantined int `json:"quarantined"`
}

// Item is a task's place in a queue. Times are milliseconds since 1970, 0 for never. Immutable.
type Item struct {
	ProjectID   string
	Queue       string
	TaskID      string
	Status      events.QueueItemStatus
	AddedAt     int64
	StartedAt   int64
	CompletedAt int64
	// SessionID is the holder while it is processing; afterwards the last holder, or the session that skipped it.
	SessionID string
	// Holders are all sessions that ever held it.
	Holders []string
	// Attempts counts its starts since it was last appended.
	Attempts   int
	FailReason string
	// Requeued is why it was last queued again, Skipped why it was last skipped: both for whoever starts it next.
	Requeued string `json:",omitempty"`
	Skipped  string `json:",omitempty"`
	// FinishedBy is the source of the event that finished it in the place of its holder; "" if the holder did.
	FinishedBy string `json:",omitempty"`
	// Started is the sequence of the event that last started it.
	Started uint64
	// Place orders the queue: items that were given back come first, and the others in order of their pushes.
	Place uint64
	// Cause is the event that last queued it, or that started it.
	Cause Cause
	// Claim is set if its last holder lost it, or skipped it, after it reported the task as done; nil once the item is
	// started or requeued.
	Claim *Claim `json:",omitempty"`
	// Removed: it is no longer in the queue. Its former holders are kept, because they may still report on the task.
	Removed bool `json:",omitempty"`
}

// notReturned is the bit that is unset in the place of a returned item. An item that is moved gets another one's place.
const notReturned = 1 << 63

// Returned reports whether the item was given back since it was last appended, wherever it was moved then.
func (i *Item) Returned() bool {
	if i.Status == events.ItemQueued {
		return i.Attempts > 0
	}
	return i.Attempts > 1
}

// isSkipped reports whether the item is in its queue, and was skipped.
func (i *Item) isSkipped() bool { return i.Status == events.ItemSkipped && !i.Removed }

// HeldItem is the item that a session holds, or held last.
type HeldItem struct {
	Queue  string
	TaskID string
	// Held says that it still holds it.
	Held bool
}

func queueKey(project, queue string) string { return project + "/" + queue }

func itemKey(project, queue, task string) string { return project + "/" + queue + "/" + task }

// Queue returns a project's queue, or nil if there is none with this name.
func (s *State) Queue(project, name string) *Queue {
	if q := s.queues.get(queueKey(project, name)); q != nil && !q.Deleted {
		return q
	}
	return nil
}

// QueueNames returns a project's queues in order of creation, including deleted ones. The list does not change.
func (s *State) QueueNames(project string) []string { return s.queueNames.get(project) }

// Queues returns a project's queues in order of creation.
func (s *State) Queues(project string) iter.Seq[*Queue] {
	return func(yield func(*Queue) bool) {
		for _, name := range s.queueNames.get(project) {
			if q := s.Queue(project, name); q != nil && !yield(q) {
				return
			}
		}
	}
}

// Item returns a task's item in a queue, or nil.
func (s *State) Item(project, queue, task string) *Item {
	if item := s.items.get(itemKey(project, queue, task)); item != nil && !item.Removed {
		return item
	}
	return nil
}

// Items returns a queue's items, in order of their pushes.
func (s *State) Items(q *Queue) []*Item {
	ids := s.itemTasks.get(queueKey(q.ProjectID, q.Name))
	items := make([]*Item, 0, len(ids))
	for _, id := range ids {
		if item := s.Item(q.ProjectID, q.Name, id); item != nil {
			items = append(items, item)
		}
	}
	inOrder(items)
	return items
}

// inOrder sorts items of a queue in order of their pushes.
func inOrder(items []*Item) { slices.SortFunc(items, byPush) }

func byPush(a, b *Item) int { return cmp.Compare(a.Push(), b.Push()) }

// Top returns the first item of a queue that may be started, nil if there is none, and how many items before it wait
// for something.
func (s *State) Top(q *Queue) (top *Item, passedOver int) {
	key := queueKey(q.ProjectID, q.Name)
	task, place, ok := s.ready.get(key).first()
	if !ok {
		return nil, s.waiting.get(key).len()
	}
	return s.Item(q.ProjectID, q.Name, task), s.waiting.get(key).before(place)
}

// LinesMoved returns the queues, "<project>/<queue>", in which the last event made items startable, or no longer
// startable. Their own fields may not have changed. The next event overwrites the list.
func (s *State) LinesMoved() []string { return s.linesMoved }

// ReadyItems counts the items of a queue that may be started.
func (s *State) ReadyItems(q *Queue) int { return s.ready.get(queueKey(q.ProjectID, q.Name)).len() }

// Holds returns the item that a session holds, or nil.
func (s *State) Holds(x *Session) *Item {
	if x.LastItem == nil || !x.LastItem.Held {
		return nil
	}
	return s.Item(x.ProjectID, x.LastItem.Queue, x.LastItem.TaskID)
}

// HeldOnce reports whether a session holds, or ever held, an item of this task.
func (s *State) HeldOnce(session, task string) bool {
	for _, key := range s.itemsOf.get(task) {
		item := s.items.get(key)
		s.lookedThrough(len(item.Holders))
		if slices.Contains(item.Holders, session) {
			return true
		}
	}
	return false
}

// QueueCount counts the queues that a task is or was in.
func (s *State) QueueCount(task string) int { return len(s.itemsOf.get(task)) }

// QueuesOf returns the items of a task, one for each queue that it is in, in order of the queues' names.
func (s *State) QueuesOf(task string) []*Item {
	var items []*Item
	for _, key := range s.itemsOf.get(task) {
		if item := s.items.get(key); !item.Removed {
			items = append(items, item)
		}
	}
	return items
}

// Held returns all held items, in the order in which they were started.
func (s *State) Held() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		s.heldItems.walk(func(key string) bool { return yield(s.items.get(key)) })
	}
}

func (s *State) leaveLine(key string, place uint64) {
	for _, lines := range []*table[line]{&s.ready, &s.waiting, &s.over} {
		if here := lines.get(key); here.has(place) {
			lines.put(key, here.without(place))
			s.work(lineCost)
		}
	}
}

func (s *State) changeQueue(key string, edit func(*Queue)) {
	before := s.queues.get(key)
	after := *before
	edit(&after)
	s.changes = append(s.changes, Change{KindQueue, key, before, &after})
	s.queues.put(key, &after)
	s.tallyQueue(before, &after)
}

// changeItem edits an item, updates the counts, and puts it into the right line.
func (s *State) changeItem(f fact, before *Item, edit func(*Item)) {
	key := queueKey(before.ProjectID, before.Queue)
	id := itemKey(before.ProjectID, before.Queue, before.TaskID)
	after := *before
	edit(&after)
	if before.Status == events.ItemQueued {
		s.leaveLine(key, before.Place)
	}
	s.changes = append(s.changes, Change{KindQueueItem, id, before, &after})
	s.items.put(id, &after)
	s.changeQueue(key, func(q *Queue) {
		*q.Stats.counterOf(before.Status)--
		*q.Stats.counterOf(after.Status)++
		q.UpdatedAt = f.at
	})
	if after.Status == events.ItemQueued {
		s.unsettled.queued = append(s.unsettled.queued, id)
	}
	if was, is := isOpen(before.Status), isOpen(after.Status); was != is {
		s.opens(&after, 2*index(is)-1)
		s.listOpen(&after, id, is)
	}
	if before.isSkipped() != after.isSkipped() {
		s.attendTask(before.TaskID)
	}
	if before.Status == events.ItemProcessing {
		s.heldItems = s.heldItems.without(before.Started)
	}
	if after.Status == events.ItemProcessing {
		s.heldItems = s.heldItems.with(after.Started, id)
	}
}

// openQueue creates a queue.
func (s *State) openQueue(q *Queue) {
	s.changes = append(s.changes, Change{
		Kind:   KindQueue,
		ID:     queueKey(q.ProjectID, q.Name),
		Before: s.queues.get(queueKey(q.ProjectID, q.Name)),
		After:  q,
	})
	s.addQueue(q)
}

func (s *State) addQueue(q *Queue) {
	key := queueKey(q.ProjectID, q.Name)
	before := s.queues.get(key)
	if before == nil {
		s.queueNames.put(q.ProjectID, append(s.queueNames.get(q.ProjectID), q.Name))
	}
	s.tallyQueue(before, q)
	s.queues.put(key, q)
	if q.TrustReports && !q.Deleted {
		s.trusting = append(s.trusting, queueKey(q.ProjectID, q.Name))
	}
}

// push appends a task to a queue.
func (s *State) push(f fact, key, task string, index int) {
	var place uint64
	s.changeQueue(key, func(q *Queue) {
		q.Pushed++
		place = q.Pushed | notReturned
		q.Stats.Total++
		q.Stats.Queued++
		q.UpdatedAt = f.at
	})
	q := s.queues.get(key)
	item := &Item{
		ProjectID: q.ProjectID,
		Queue:     q.Name,
		TaskID:    task,
		Status:    events.ItemQueued,
		AddedAt:   f.at,
		Place:     place,
		Cause:     f.cause(),
	}
	id := itemKey(q.ProjectID, q.Name, task)
	if before := s.items.get(id); before != nil {
		s.pushAgain(f, before, item)
	} else {
		s.changes = append(s.changes, Change{KindQueueItem, id, (*Item)(nil), item})
		s.enter(key, id, item)
	}
	s.note(f, index)
}

// enter adds a new item to its queue and its task.
func (s *State) enter(key, id string, item *Item) {
	s.items.put(id, item)
	s.itemTasks.put(key, append(s.itemTasks.get(key), item.TaskID))
	keys := s.itemsOf.get(item.TaskID)
	s.work(uint64(len(keys)))
	at, _ := slices.BinarySearch(keys, id)
	s.itemsOf.put(item.TaskID, slices.Insert(slices.Clone(keys), at, id))
	if item.Status == events.ItemQueued {
		s.unsettled.queued = append(s.unsettled.queued, id)
	}
	if isOpen(item.Status) {
		s.opens(item, 1)
		s.listOpen(item, id, true)
	}
}

func (s *State) queueCreated(f fact, d *events.QueueCreated) error {
	if s.Queue(f.Project, d.Queue) != nil {
		return exists("queue", d.Queue)
	}
	if s.Project(f.Project) == nil {
		return missing("project", f.Project)
	}
	var pushed uint64 // places are used once, even by an earlier queue of the same name
	if before := s.queues.get(queueKey(f.Project, d.Queue)); before != nil {
		pushed = before.Pushed
	}
	s.openQueue(&Queue{
		Pushed:       pushed,
		ProjectID:    f.Project,
		Name:         d.Queue,
		TrustReports: d.TrustReports,
		MaxAttempts:  d.MaxAttempts,
		CreatedAt:    f.at,
		UpdatedAt:    f.at,
		CreatedBy:    f.Source,
	})
	return nil
}

// checkPush returns what is wrong with pushing these tasks.
func (s *State) checkPush(project, queue string, tasks []string) error {
	these := make(map[string]bool, len(tasks))
	for _, id := range tasks {
		if s.Task(id) == nil {
			return missing("task", id)
		}
		if these[id] || s.Item(project, queue, id) != nil {
			return exists("queue item", queue+"/"+id)
		}
		these[id] = true
	}
	return nil
}

func (s *State) itemPushed(f fact, d *events.QueueItemPushed) error {
	if s.Queue(f.Project, d.Queue) == nil {
		return missing("queue", d.Queue)
	}
	if err := s.checkPush(f.Project, d.Queue, []string{d.TaskID}); err != nil {
		return err
	}
	s.push(f, queueKey(f.Project, d.Queue), d.TaskID, 0)
	return nil
}

// item returns the item of an event, if it has one of the required statuses.
func (s *State) item(f fact, queue, task string, statuses ...events.QueueItemStatus) (*Item, error) {
	item := s.Item(f.Project, queue, task)
	if item == nil {
		return nil, missing("queue item", queue+"/"+task)
	}
	if !slices.Contains(statuses, item.Status) {
		return nil, fmt.Errorf("it speaks of the queue item %q, which is %s", queue+"/"+task, item.Status)
	}
	return item, nil
}

func (s *State) itemStarted(f fact, d *events.QueueItemStarted) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQueued)
	if err != nil {
		return err
	}
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.SessionID, i.Attempts, i.StartedAt, i.CompletedAt = events.ItemProcessing, d.SessionID, d.Attempt,
			f.at, 0
		i.Cause, i.Started, i.Claim, i.FinishedBy = f.cause(), f.sequence, nil, ""
		s.work(uint64(len(i.Holders)))
		if !slices.Contains(i.Holders, d.SessionID) {
			i.Holders = append(slices.Clip(i.Holders), d.SessionID)
		}
	})
	s.changeSession(d.SessionID, func(x *Session) { x.LastItem = &HeldItem{d.Queue, d.TaskID, true} })
	s.changeTask(d.TaskID, func(t *Task) {
		s.addSession(t, d.SessionID)
		t.UpdatedAt = f.at
		if t.Status == events.TaskTodo {
			t.moveTo(f, events.TaskInProgress)
		}
	})
	s.say(f, d.TaskID, d.SessionID, events.SaysWorking, 0)
	s.note(f, 0)
	return nil
}

func (s *State) itemRequeued(f fact, d *events.QueueItemRequeued) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQuarantined, events.ItemFailed, events.ItemSkipped,
		events.ItemCompleted)
	if err != nil {
		return err
	}
	key := queueKey(f.Project, d.Queue)
	var place uint64
	s.changeQueue(key, func(q *Queue) {
		q.Pushed++
		place = q.Pushed | notReturned
	})
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.Place, i.Attempts, i.Cause = events.ItemQueued, place, 0, f.cause()
		i.StartedAt, i.CompletedAt, i.FailReason, i.Claim, i.FinishedBy = 0, 0, "", nil, ""
		i.Requeued = d.Reason
	})
	s.note(f, 0)
	return nil
}

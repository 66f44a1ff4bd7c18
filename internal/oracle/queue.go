package oracle

import (
	"slices"
)

// defaultAttempts is the number of starts after which an item of a session's own queue is quarantined.
const defaultAttempts = 3

// The states of an item.
const (
	queued      = "queued"
	processing  = "processing"
	itemDone    = "completed"
	itemBroken  = "failed"
	skipped     = "skipped"
	quarantined = "quarantined"
)

// queueKey identifies a queue: its name is unique in its project.
type queueKey struct{ project, name string }

type queue struct {
	// session is the owner of a session's own queue, "" for a named one.
	session     string
	maxAttempts int
	trust       bool
	items       map[string]*item
	// front and back are the queued items in order: returned items come before the others.
	front, back []*item
	// pushes counts, to give each item a place in the order of pushes.
	pushes int
	// open counts the items that are queued or held.
	open int
}

type item struct {
	queue *queue
	task  string
	state string
	// place is when it was pushed or requeued.
	place int
	// returned: it was returned to the queue since it was pushed or requeued.
	returned bool
	attempts int
	// holder is the session that holds it while it is processing; afterwards the last holder, or the session that
	// skipped it.
	holder string
	// holders are all sessions that ever held it.
	holders []string
	// reason is why it failed last, in the words of its holder.
	reason string
	// again is why it was last queued again.
	again string
	// cause is the id of the event that led to its state.
	cause string
}

func newQueue(maxAttempts int, trust bool) *queue {
	return &queue{maxAttempts: maxAttempts, trust: trust, items: map[string]*item{}}
}

// itemOf returns the item of a task; nil if it has none, or if there is no queue.
func (q *queue) itemOf(task string) *item {
	if q == nil {
		return nil
	}
	return q.items[task]
}

// push appends a new item, in place of the task's old one if it had one.
func (j *Judge) push(q *queue, task, cause string) {
	i := &item{queue: q, task: task, cause: cause}
	for key, queue := range j.queues {
		if queue == q {
			i.holders = j.former[formerItem{key, task}]
		}
	}
	if old := q.items[task]; old != nil && old.open() {
		q.open--
	}
	q.items[task] = i
	j.queueUp(i)
}

// queueUp appends an item.
func (j *Judge) queueUp(i *item) {
	i.queue.pushes++
	j.stands(i, queued)
	i.place, i.returned, i.attempts = i.queue.pushes, false, 0
	i.queue.back = append(i.queue.back, i)
}

// giveBack puts an item at the front, in the order of pushes among those there.
func (j *Judge) giveBack(i *item) {
	j.leaves(i, queued)
	i.returned = true
	at, _ := slices.BinarySearchFunc(i.queue.front, i, func(a, b *item) int { return a.place - b.place })
	i.queue.front = slices.Insert(i.queue.front, at, i)
}

// leaves removes an item from the line, if it is there.
func (j *Judge) leaves(i *item, state string) {
	here := func(other *item) bool { return other == i }
	if i.state == queued {
		i.queue.front = slices.DeleteFunc(i.queue.front, here)
		i.queue.back = slices.DeleteFunc(i.queue.back, here)
	}
	j.stands(i, state)
}

// stands sets an item's state, and counts the queued or held items.
func (j *Judge) stands(i *item, state string) {
	was := i.open()
	i.state = state
	if i.open() == was {
		return
	}
	by := 1
	if was {
		by = -1
	}
	i.queue.open += by
	t := j.tasks[i.task]
	if t == nil {
		return
	}
	t.open += by
	counted := make(map[string]bool, len(t.dependencies))
	for _, id := range t.dependencies {
		if d := j.tasks[id]; d != nil && d.dependents[t.id] != nil && !counted[id] {
			counted[id] = true
			d.awaited += by
		}
	}
}

// eligible reports whether an item may be started: its task is todo, and no dependency is unmet.
func (j *Judge) eligible(q *queue, i *item) bool {
	t := j.tasks[i.task]
	if t == nil || t.deleted || t.status != todo && t.status != inProgress {
		return false
	}
	return !slices.ContainsFunc(t.dependencies, func(d string) bool { return !j.satisfied(d, q.trust) })
}

// first returns the first eligible item and the number of queued ones before it; nil if there is none.
func (j *Judge) first(q *queue) (*item, int) {
	eligible := func(i *item) bool { return j.eligible(q, i) }
	if at := slices.IndexFunc(q.front, eligible); at >= 0 {
		return q.front[at], at
	}
	if at := slices.IndexFunc(q.back, eligible); at >= 0 {
		return q.back[at], len(q.front) + at
	}
	return nil, 0
}

// skipQueued skips the queued items of a deleted task; held items stay held.
func (j *Judge) skipQueued(task, cause string) {
	for _, q := range j.queues {
		if i := q.itemOf(task); i != nil && i.state == queued {
			j.leaves(i, skipped)
			i.cause = cause
		}
	}
}

// release takes an item from its holder, or removes it from the line.
func (j *Judge) release(i *item, state, cause string) {
	if s := j.sessions[i.holder]; s != nil && s.holds == i {
		s.holds = nil
	}
	j.leaves(i, state)
	i.cause = cause
}

// addQueue adds a queue.
func (j *Judge) addQueue(key queueKey, q *queue) {
	j.queues[key] = q
	j.order.queues = append(j.order.queues, key)
}

// aQueue returns the event's queue, and reports a fault if there is none.
func (c *trial) aQueue(name string) *queue {
	q := c.queues[queueKey{c.event.Project, name}]
	if q == nil {
		c.fault(ruleExists, "queue %q does not exist", name)
	}
	return q
}

// anItem is aQueue and one of its items.
func (c *trial) anItem(name, task string) (*queue, *item) {
	q := c.aQueue(name)
	i := q.itemOf(task)
	if q != nil && i == nil {
		c.fault(ruleExists, "queue %s has no item for task %q", name, task)
	}
	return q, i
}

// itemOf returns what anItem returned, when the event is folded.
func (c *trial) itemOf(name, task string) *item {
	return c.queues[queueKey{c.event.Project, name}].itemOf(task)
}

type queueCreated struct {
	Queue        string `json:"queue"`
	TrustReports bool   `json:"trustReports"`
	MaxAttempts  int    `json:"maxAttempts"`
}

func (f *queueCreated) about() (kind, id string) { return "queue", f.Queue }
func (f *queueCreated) commands() []string       { return []string{"queue:create"} }

func (f *queueCreated) judge(c *trial) {
	if f.Queue == "" || c.queues[queueKey{c.event.Project, f.Queue}] != nil {
		c.fault(ruleQueue, "queue %q already exists in the project", f.Queue)
	}
	if f.MaxAttempts < 1 {
		c.fault(ruleQueue, "%d is not a valid number of attempts", f.MaxAttempts)
	}
}

func (f *queueCreated) fold(c *trial) {
	if key := (queueKey{c.event.Project, f.Queue}); c.queues[key] == nil {
		c.addQueue(key, newQueue(f.MaxAttempts, f.TrustReports))
	}
}

type itemPushed struct {
	Queue  string `json:"queue"`
	TaskID string `json:"taskId"`
}

func (f *itemPushed) about() (kind, id string) { return "queue", f.Queue }
func (f *itemPushed) commands() []string       { return []string{"queue:push"} }

func (f *itemPushed) judge(c *trial) {
	c.aTask(f.TaskID)
	c.workable(f.TaskID)
	q := c.aQueue(f.Queue)
	if i := q.itemOf(f.TaskID); i != nil {
		c.fault(ruleQueue, "task %s is already in queue %s (%s)", f.TaskID, f.Queue, i.state)
	}
	c.enters(q, []string{f.TaskID})
}

func (f *itemPushed) fold(c *trial) {
	if q := c.queues[queueKey{c.event.Project, f.Queue}]; q != nil && q.itemOf(f.TaskID) == nil {
		c.push(q, f.TaskID, c.event.ID)
	}
}

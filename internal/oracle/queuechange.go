package oracle

import "slices"

// maxMoved is the maximum number of queued items of a queue in which one is moved.
const maxMoved = 10_000

// line returns the queued items in their order.
func (q *queue) line() []*item { return slices.Concat(q.front, q.back) }

type itemMoved struct {
	Queue  string `json:"queue"`
	TaskID string `json:"taskId"`
	Before string `json:"before"`
}

func (f *itemMoved) about() (kind, id string) { return "queue", f.Queue }
func (f *itemMoved) commands() []string       { return []string{"queue:move"} }

func (f *itemMoved) judge(c *trial) {
	q, i := c.anItem(f.Queue, f.TaskID)
	if i == nil {
		return
	}
	if i.state != queued {
		c.fault(ruleMoved, "the item is %s, not queued", i.state)
	}
	if len(q.line()) > maxMoved {
		c.fault(ruleLimit, "%d items are queued, so no item can move", len(q.line()))
	}
	if f.Before == "" {
		return
	}
	if other := q.itemOf(f.Before); other == nil || other.state != queued || other == i {
		c.fault(ruleMoved, "the item moves before %q, which is not another queued item", f.Before)
	}
}

func (f *itemMoved) fold(c *trial) {
	i := c.itemOf(f.Queue, f.TaskID)
	if i == nil || i.state != queued {
		return
	}
	q := i.queue
	i.cause = c.event.ID
	if f.Before == "" {
		attempts, returned := i.attempts, i.returned
		c.leaves(i, queued)
		c.queueUp(i)
		i.attempts, i.returned = attempts, returned
		return
	}
	var places []int
	var others []*item
	for _, other := range q.line() {
		places = append(places, other.place)
		if other != i {
			others = append(others, other)
		}
	}
	at := slices.IndexFunc(others, func(other *item) bool { return other.task == f.Before })
	front := len(q.front)
	all := slices.Insert(others, max(at, 0), i)
	for n, other := range all {
		other.place = places[n]
	}
	q.front, q.back = slices.Clone(all[:front]), slices.Clone(all[front:])
}

type itemRemoved struct {
	Queue  string `json:"queue"`
	TaskID string `json:"taskId"`
}

func (f *itemRemoved) about() (kind, id string) { return "queue", f.Queue }
func (f *itemRemoved) commands() []string       { return []string{"queue:remove"} }

func (f *itemRemoved) judge(c *trial) {
	if _, i := c.anItem(f.Queue, f.TaskID); i != nil && i.state == processing {
		c.fault(ruleMoved, "session %s holds the item", i.holder)
	}
}

func (f *itemRemoved) fold(c *trial) {
	if i := c.itemOf(f.Queue, f.TaskID); i != nil {
		c.removes(queueKey{c.event.Project, f.Queue}, i)
	}
}

// formerItem names an item that was removed.
type formerItem struct {
	queue queueKey
	task  string
}

// removes takes an item out of its queue.
func (j *Judge) removes(key queueKey, i *item) {
	j.former[formerItem{key, i.task}] = i.holders
	j.leaves(i, skipped)
	delete(i.queue.items, i.task)
}

type queueDeleted struct {
	Queue string `json:"queue"`
}

func (f *queueDeleted) about() (kind, id string) { return "queue", f.Queue }
func (f *queueDeleted) commands() []string       { return []string{"queue:delete"} }

func (f *queueDeleted) judge(c *trial) {
	q := c.aQueue(f.Queue)
	switch {
	case q == nil:
	case q.session != "":
		c.fault(ruleMoved, "the queue belongs to session %s", q.session)
	case q.open > 0:
		c.fault(ruleMoved, "the queue is not empty: %d items are queued or held", q.open)
	case len(q.items) > maxDeletedItems:
		c.fault(ruleLimit, "the queue has %d items, which are too many to delete", len(q.items))
	}
}

func (f *queueDeleted) fold(c *trial) {
	key := queueKey{c.event.Project, f.Queue}
	q := c.queues[key]
	if q == nil {
		return
	}
	for _, i := range q.items {
		c.removes(key, i)
	}
	delete(c.queues, key)
	c.order.queues = slices.DeleteFunc(slices.Clone(c.order.queues), func(k queueKey) bool { return k == key })
}

func (a *asked) moveItem() fact {
	if a.f.First && a.f.Before != "" {
		return a.no(codeInvalid)
	}
	key, i := a.itemMeant()
	switch {
	case a.refused():
		return nil
	case i.state != queued:
		return a.no(codeConflict)
	}
	line := i.queue.line()
	before := a.f.Before
	if a.f.First {
		before = line[0].task
	}
	if a.f.Before != "" {
		other := i.queue.itemOf(before)
		switch {
		case !isID(before), other == i:
			return a.no(codeInvalid)
		case other == nil:
			return a.no(codeFound)
		case other.state != queued:
			return a.no(codeConflict)
		}
	}
	at := slices.Index(line, i)
	next := ""
	if at+1 < len(line) {
		next = line[at+1].task
	}
	if before == next || before == i.task {
		return a.so()
	}
	return &itemMoved{Queue: key.name, TaskID: i.task, Before: before}
}

// itemMeant returns the command's item, including that of a deleted task.
func (a *asked) itemMeant() (queueKey, *item) {
	switch {
	case !isID(a.f.TaskID):
		a.refuse(codeInvalid)
	case a.tasks[a.f.TaskID] == nil:
		a.refuse(codeFound)
	}
	if a.refused() {
		return queueKey{}, nil
	}
	key, i := a.meant()
	if !a.refused() && i == nil {
		a.refuse(codeFound)
	}
	return key, i
}

func (a *asked) removeItem() fact {
	key, i := a.itemMeant()
	switch {
	case a.refused():
		return nil
	case i.state == processing:
		return a.no(codeConflict)
	}
	return &itemRemoved{Queue: key.name, TaskID: i.task}
}

func (a *asked) deleteQueue() fact {
	if !a.liveProject(a.event.Project) {
		return nil
	}
	q := a.queues[queueKey{a.event.Project, a.f.Queue}]
	switch {
	case !isID(a.f.Queue):
		return a.no(codeInvalid)
	case q == nil:
		return a.no(codeFound)
	case q.session != "", q.open > 0:
		return a.no(codeConflict)
	}
	return &queueDeleted{Queue: a.f.Queue}
}

package simulation

import (
	"cmp"
	"fmt"
	"slices"
)

// queue is a queue of a project. Contract, "Queue".
type queue struct {
	project, name string
	// session is the one whose own it is, "" for a named one.
	session string
	trusts  bool
	most    int // starts of an item
	pushed  int // what was ever put at its end
	items   []item
}

// item is a task's place in a queue.
type item struct {
	task, status string
	// holder has it in hand while it is processing; afterwards it is who had it last, or who skipped it.
	holder   string
	holders  []string
	attempts int
	place    int  // counts what was put at the end
	returned bool // to the front
	cause    cause
}

// hand is what a session holds, or held last.
type hand struct {
	queue, task string
	held        bool
}

func (q queue) key() string { return queueID(q.project, q.name) }

func queueID(project, name string) string { return project + "/" + name }

func (q queue) find(task string) (item, bool) {
	at := slices.IndexFunc(q.items, func(i item) bool { return i.task == task })
	if at < 0 {
		return item{}, false
	}
	return q.items[at], true
}

// put stores a queue with an item's new values.
func (m *model) put(q queue, i item) {
	at := slices.IndexFunc(q.items, func(other item) bool { return other.task == i.task })
	q.items = slices.Clone(q.items)
	if at < 0 {
		q.items = append(q.items, i)
	} else {
		q.items[at] = i
	}
	m.queues[q.key()] = q
}

// push puts a task at the end of a queue.
func (m *model) push(key, task string, by cause) {
	q := m.queues[key]
	q.pushed++
	m.put(q, item{task: task, status: "queued", place: q.pushed, cause: by})
}

func (m *model) itemOf(project, queue, task string) (item, bool) {
	return m.queues[queueID(project, queue)].find(task)
}

// holds gives the item in a session's hand.
func (m *model) holds(x session) (item, bool) {
	if !x.hand.held {
		return item{}, false
	}
	return m.itemOf(x.project, x.hand.queue, x.hand.task)
}

// becameOf says what became of a session that can hold nothing any more, "" of one that can.
func (m *model) becameOf(id string) string {
	switch x := m.sessions[id]; {
	case x.deleted || x.project == "":
		return "deleted"
	case x.ended:
		return x.status
	case x.lost:
		return "lost"
	}
	return ""
}

// heldOnce reports whether a session holds, or ever held, an item of a task.
func (m *model) heldOnce(session, task string) bool {
	for _, q := range m.queues {
		if i, ok := q.find(task); ok && contains(i.holders, session) {
			return true
		}
	}
	return false
}

// startable reports whether a task may be started from a queue: it is open, and what it depends on is done.
func (m *model) startable(q queue, id string) bool {
	t, live := m.liveTask(id)
	if !live || t.status != "todo" && t.status != "in_progress" {
		return false
	}
	for _, dependency := range t.dependencies {
		d := m.tasks[dependency]
		if d.status != "completed" && (!q.trusts || d.deleted || m.saidOf(d) != "completed") {
			return false
		}
	}
	return true
}

// line gives the queued items in the order of their turn: what was given back first, then by the time of the push.
func (q queue) line() []item {
	var line []item
	for _, i := range q.items {
		if i.status == "queued" {
			line = append(line, i)
		}
	}
	slices.SortFunc(line, func(a, b item) int {
		if a.returned != b.returned {
			if a.returned {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.place, b.place)
	})
	return line
}

// top gives the first item that may be started, and how many are passed over for it.
func (m *model) top(q queue) (first item, passedOver int, ok bool) {
	for n, i := range q.line() {
		if m.startable(q, i.task) {
			return i, n, true
		}
	}
	return item{}, 0, false
}

// joinQueue gives a spawned session with the queue strategy its queue, with its tasks in it.
func (m *model) joinQueue(x *session, w wish, d made) error {
	if x.strategy != "queue" {
		if d.Queue != "" || len(d.Queued) > 0 {
			return fmt.Errorf("a session of strategy %s pulls from %q", x.strategy, d.Queue)
		}
		return nil
	}
	x.queue = w.fields.Queue
	if x.queue == "" {
		x.queue = d.SessionID
	}
	key := queueID(x.project, x.queue)
	if w.fields.Queue == "" {
		m.queues[key] = queue{project: x.project, name: x.queue, session: d.SessionID, most: 3}
		m.queueIDs = append(m.queueIDs, key)
	}
	var pushed []string
	for _, id := range x.tasks {
		if _, there := m.queues[key].find(id); !there {
			m.push(key, id, d.me)
			pushed = append(pushed, id)
		}
	}
	if d.Queue != x.queue || !slices.Equal(d.Queued, pushed) || d.Timeout != w.fields.Timeout {
		return fmt.Errorf("the spawn joined queue %q with %v, expected %q with %v", d.Queue, d.Queued, x.queue, pushed)
	}
	return nil
}

// dropItems skips what is queued of a task that was deleted.
func (m *model) dropItems(task string, by cause) {
	for _, key := range m.queueIDs {
		q := m.queues[key]
		if i, ok := q.find(task); ok && i.status == "queued" {
			i.status, i.cause = "skipped", by
			m.put(q, i)
		}
	}
}

// nextQueue folds what a command on a queue became.
func (m *model) nextQueue(before *model, w wish, d made) error {
	f := w.fields
	wrong := func(expected ...any) error {
		return fmt.Errorf("%s became %q of queue %q for session %q (attempt %d), expected %v", w.id, d.TaskID, d.Queue, d.SessionID, d.Attempt, expected)
	}
	switch w.id {
	case "queue:create":
		q := queue{project: before.projectOf(w), name: f.Queue, trusts: f.TrustReports, most: f.MaxAttempts}
		if q.most == 0 {
			q.most = 3
		}
		m.queues[q.key()] = q
		m.queueIDs = append(m.queueIDs, q.key())
		return nil
	case "queue:requeue":
		q, i, _ := before.meant(w)
		q.pushed++
		i.status, i.place, i.returned, i.attempts, i.cause = "queued", q.pushed, false, 0, d.me
		if d.Queue != q.name || d.TaskID != i.task {
			return wrong(q.name, i.task)
		}
		m.put(q, i)
		return nil
	case "queue:return", "queue:quarantine":
		q := before.queues[queueID(before.projectOf(w), f.Queue)]
		i, _ := q.find(f.TaskID)
		if d.Queue != q.name || d.TaskID != i.task || d.SessionID != i.holder || d.Attempt != i.attempts || d.Reason != before.becameOf(i.holder) {
			return wrong(q.name, i.task, i.holder, i.attempts, before.becameOf(i.holder))
		}
		m.drop(i.holder)
		m.say(i.task, i.holder, "")
		if w.id == "queue:quarantine" {
			i.status, i.cause = "quarantined", d.me
		} else {
			i.status, i.returned, i.cause = "queued", true, d.me
		}
		if _, live := m.liveTask(i.task); !live && i.status == "queued" {
			i.status = "skipped" // nobody could start it any more
		}
		m.put(q, i)
		return nil
	}
	q, x, id, _ := before.queueOf(w)
	if d.Queue != q.name || d.SessionID != id && w.id != "queue:push" {
		return wrong(q.name, id)
	}
	switch w.id {
	case "queue:push":
		if d.TaskID != f.TaskID {
			return wrong(f.TaskID)
		}
		m.push(q.key(), f.TaskID, d.me)
	case "queue:start":
		i, passed, _ := before.top(q)
		if d.TaskID != i.task || d.Attempt != i.attempts+1 || d.PassedOver != passed {
			return wrong(i.task, i.attempts+1, passed)
		}
		m.take(q, i, id, d.me)
	case "queue:complete", "queue:fail":
		i, _ := before.holds(x)
		if d.TaskID != i.task {
			return wrong(i.task)
		}
		i.status, i.cause = map[string]string{"queue:complete": "completed", "queue:fail": "failed"}[w.id], d.me
		m.drop(id)
		m.put(q, i)
		m.say(i.task, id, i.status)
	case "queue:skip":
		i, held := before.holds(x)
		if held {
			m.drop(id)
			m.say(i.task, id, "")
		} else {
			i, _, _ = before.top(q)
		}
		if d.TaskID != i.task || d.Held != held {
			return wrong(i.task, held)
		}
		i.status, i.holder, i.cause = "skipped", id, d.me
		m.put(q, i)
	}
	return nil
}

// take puts an item into a session's hand.
func (m *model) take(q queue, i item, id string, by cause) {
	i.status, i.holder, i.cause = "processing", id, by
	i.attempts++
	if !contains(i.holders, id) {
		i.holders = append(slices.Clip(i.holders), id)
	}
	m.put(q, i)
	x := m.sessions[id]
	x.hand = hand{q.name, i.task, true}
	m.sessions[id] = x
	t := m.tasks[i.task]
	if t.status == "todo" {
		t.status = "in_progress"
	}
	m.tasks[i.task] = t
	m.say(i.task, id, "working")
}

// drop takes what a session holds out of its hand.
func (m *model) drop(id string) {
	x := m.sessions[id]
	x.hand.held = false
	m.sessions[id] = x
}

// queueOf gives the queue that a command means, and the session that pulls from it; the session is "" when a user names the
// queue alone.
func (m *model) queueOf(w wish) (q queue, x session, id string, v verdict) {
	f := w.fields
	if w.by.user() && f.SessionID == "" {
		if badID(f.Queue) {
			return q, x, "", isInvalid
		}
		q, ok := m.queues[queueID(m.projectOf(w), f.Queue)]
		if !ok {
			return q, x, "", notFound
		}
		return q, x, "", becomesEvent
	}
	id = m.target(w)
	x, live := m.liveSession(id)
	switch {
	case id == "":
		return q, x, id, isInvalid
	case !live:
		return q, x, id, notFound
	case f.Project != "" && f.Project != x.project:
		return q, x, id, isInvalid
	case w.by.kind == "session" && id != w.by.name:
		return q, x, id, notAllowed
	case x.strategy != "queue":
		return q, x, id, isInvalid
	case x.queue == "":
		return q, x, id, notFound
	case f.Queue != "" && f.Queue != x.queue:
		return q, x, id, notAllowed
	}
	return m.queues[queueID(x.project, x.queue)], x, id, becomesEvent
}

// meant gives the item that a requeue means: a task that is in one queue only needs no queue's name.
func (m *model) meant(w wish) (queue, item, verdict) {
	name := w.fields.Queue
	if name == "" {
		var in []queue
		for _, q := range m.queues {
			if _, ok := q.find(w.fields.TaskID); ok {
				in = append(in, q)
			}
		}
		if len(in) != 1 {
			return queue{}, item{}, isInvalid
		}
		name = in[0].name
	}
	q := m.queues[queueID(m.projectOf(w), name)]
	i, ok := q.find(w.fields.TaskID)
	if !ok {
		return q, i, notFound
	}
	return q, i, becomesEvent
}

func badID(id string) bool { return id == "" || slices.Contains([]rune(id), ' ') || len(id) > 128 }

func (m *model) judgeQueue(w wish) verdict {
	f := w.fields
	switch w.id {
	case "queue:create":
		return m.judgeNewQueue(w)
	case "queue:requeue":
		if badID(f.TaskID) {
			return isInvalid
		}
		if _, live := m.liveTask(f.TaskID); !live {
			return notFound
		}
		_, i, v := m.meant(w)
		switch {
		case v != becomesEvent:
			return v
		case i.status == "queued":
			return alreadySo
		case i.status == "processing", i.status == "completed":
			return isConflict
		}
		return becomesEvent
	case "queue:return", "queue:quarantine":
		q := m.queues[queueID(m.projectOf(w), f.Queue)]
		i, ok := q.find(f.TaskID)
		switch {
		case !ok:
			return notFound
		case i.status != "processing":
			return alreadySo
		case m.becameOf(i.holder) == "", (i.attempts >= q.most) != (w.id == "queue:quarantine"):
			return againstRule
		}
		return becomesEvent
	}
	q, x, id, v := m.queueOf(w)
	if v != becomesEvent {
		return v
	}
	held, holds := m.holds(x)
	_, _, ready := m.top(q)
	switch w.id {
	case "queue:push":
		return m.judgePush(q, f)
	case "queue:start":
		switch {
		case id == "":
			return isInvalid
		case x.ended:
			return notAllowed
		case x.lost:
			return isConflict
		case holds, !ready:
			return alreadySo
		}
	case "queue:complete", "queue:fail":
		last, _ := q.find(f.TaskID)
		said := map[string]string{"queue:complete": "completed", "queue:fail": "failed"}[w.id]
		switch {
		case id == "":
			return isInvalid
		case !holds && f.TaskID != "" && last.status == said && last.holder == id:
			return alreadySo
		case !holds, f.TaskID != "" && f.TaskID != held.task:
			return isConflict
		}
	case "queue:skip":
		return m.judgeSkip(q, x, id, f.TaskID)
	}
	return becomesEvent
}

func (m *model) judgeSkip(q queue, x session, id, task string) verdict {
	if held, holds := m.holds(x); holds {
		if task != "" && task != held.task {
			return isConflict
		}
		return becomesEvent
	}
	top, _, ready := m.top(q)
	switch {
	case id != "" && task != "" && x.hand.task == task: // it held that once, and no longer does
		return isConflict
	case x.ended:
		return notAllowed
	case !ready, task != "" && task != top.task:
		return isConflict
	}
	return becomesEvent
}

func (m *model) judgeNewQueue(w wish) verdict {
	f := w.fields
	project := m.projectOf(w)
	if project == "" {
		return isInvalid
	}
	if _, live := m.liveProject(project); !live {
		return notFound
	}
	if badID(f.Queue) || f.MaxAttempts < 0 || f.MaxAttempts > 1000 {
		return isInvalid
	}
	most := f.MaxAttempts
	if most == 0 {
		most = 3
	}
	if q, there := m.queues[queueID(project, f.Queue)]; there {
		if q.session == "" && q.trusts == f.TrustReports && q.most == most {
			return alreadySo
		}
		return isConflict
	}
	if _, session := m.sessions[f.Queue]; session {
		return isConflict
	}
	return becomesEvent
}

func (m *model) judgePush(q queue, f fields) verdict {
	if badID(f.TaskID) {
		return isInvalid
	}
	t, live := m.liveTask(f.TaskID)
	switch {
	case !live:
		return notFound
	case t.project != q.project:
		return isInvalid
	}
	if _, there := q.find(f.TaskID); there {
		return isConflict
	}
	return becomesEvent
}

package projections

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"maestro/events"
)

// model implements docs/contract.md, "Queues", as simply as possible: it stores nothing that can be derived, and every
// question scans everything.
type model struct {
	tasks  map[string]*modelTask
	ended  map[string]bool
	queues map[string]*modelQueue
	pushes int
}

type modelTask struct {
	status       events.TaskStatus
	deleted      bool
	dependencies []string
	words        []modelWord // the newest last
}

type modelWord struct {
	session string
	says    events.TaskSessionStatus
}

type modelQueue struct {
	trust bool
	items []*modelItem
}

type modelItem struct {
	task     string
	status   events.QueueItemStatus
	pushed   int
	returned bool
}

func newModel() *model {
	return &model{tasks: map[string]*modelTask{}, ended: map[string]bool{}, queues: map[string]*modelQueue{}}
}

func (m *model) push(queue, task string) {
	m.pushes++
	q := m.queues[queue]
	q.items = append(q.items, &modelItem{task: task, status: events.ItemQueued, pushed: m.pushes})
}

func (m *model) item(queue, task string) *modelItem {
	for _, item := range m.queues[queue].items {
		if item.task == task {
			return item
		}
	}
	return nil
}

// say replaces a session's report on a task and puts it last; "" only removes it.
func (m *model) say(task, session string, says events.TaskSessionStatus) {
	t := m.tasks[task]
	t.words = slices.DeleteFunc(t.words, func(w modelWord) bool { return w.session == session })
	if says != "" {
		t.words = append(t.words, modelWord{session, says})
	}
}

// apply applies a payload, if queues depend on it.
func (m *model) apply(data any) {
	switch d := data.(type) {
	case *events.TaskCreated:
		m.tasks[d.TaskID] = &modelTask{status: events.TaskTodo, dependencies: d.Dependencies}
	case *events.TaskUpdated:
		if d.Dependencies != nil {
			m.tasks[d.TaskID].dependencies = *d.Dependencies
		}
		if d.Status != nil {
			m.tasks[d.TaskID].status = d.Status.To
		}
	case *events.TaskStatusChanged:
		t := m.tasks[d.TaskID]
		t.status = d.To
		if d.To == events.TaskInProgress {
			t.words = slices.DeleteFunc(t.words, func(w modelWord) bool { return w.says == events.SaysCompleted })
		}
	case *events.TaskDeleted:
		for _, id := range append([]string{d.TaskID}, d.Descendants...) {
			m.tasks[id].deleted = true
			for _, q := range m.queues {
				for _, item := range q.items {
					if item.task == id && item.status == events.ItemQueued {
						item.status = events.ItemSkipped
					}
				}
			}
		}
	case *events.SessionSpawned:
		if d.Queue == d.SessionID {
			m.queues[d.Queue] = &modelQueue{}
		}
		for _, id := range d.Queued {
			m.push(d.Queue, id)
		}
	case *events.SessionKilled:
		m.ended[d.SessionID] = true
	case *events.SessionTimedOut:
		m.ended[d.SessionID] = true
	case *events.SessionExited:
		m.ended[d.SessionID] = m.ended[d.SessionID] || d.Status != ""
	case *events.SessionResumed:
		m.ended[d.SessionID] = false
	case *events.SessionDeleted:
		m.ended[d.SessionID] = true
	case *events.SessionReported:
		for _, id := range d.TaskIDs {
			if !d.Late {
				m.say(id, d.SessionID, d.Kind.SessionStatus())
			}
		}
	default:
		m.applyToQueue(data)
	}
}

func (m *model) applyToQueue(data any) {
	switch d := data.(type) {
	case *events.QueueCreated:
		m.queues[d.Queue] = &modelQueue{trust: d.TrustReports}
	case *events.QueueItemPushed:
		m.push(d.Queue, d.TaskID)
	case *events.QueueItemStarted:
		m.item(d.Queue, d.TaskID).status = events.ItemProcessing
		if t := m.tasks[d.TaskID]; t.status == events.TaskTodo {
			t.status = events.TaskInProgress
		}
		m.say(d.TaskID, d.SessionID, events.SaysWorking)
	case *events.QueueItemCompleted:
		m.item(d.Queue, d.TaskID).status = events.ItemCompleted
		m.say(d.TaskID, d.SessionID, events.SaysCompleted)
	case *events.QueueItemFailed:
		m.item(d.Queue, d.TaskID).status = events.ItemFailed
		m.say(d.TaskID, d.SessionID, events.SaysFailed)
	case *events.QueueItemSkipped:
		m.item(d.Queue, d.TaskID).status = events.ItemSkipped
		if d.Held {
			m.say(d.TaskID, d.SessionID, "")
		}
	case *events.QueueItemQuarantined:
		m.item(d.Queue, d.TaskID).status = events.ItemQuarantined
		m.say(d.TaskID, d.SessionID, "")
	case *events.QueueItemReturned:
		item := m.item(d.Queue, d.TaskID)
		item.status, item.returned = events.ItemQueued, true
		if m.tasks[d.TaskID].deleted {
			item.status = events.ItemSkipped
		}
		m.say(d.TaskID, d.SessionID, "")
	case *events.QueueItemRequeued:
		m.pushes++
		item := m.item(d.Queue, d.TaskID)
		item.status, item.returned, item.pushed = events.ItemQueued, false, m.pushes
	case *events.QueueItemMoved:
		m.move(d)
	case *events.QueueItemRemoved:
		q := m.queues[d.Queue]
		q.items = slices.DeleteFunc(q.items, func(i *modelItem) bool { return i.task == d.TaskID })
	case *events.QueueDeleted:
		delete(m.queues, d.Queue)
	}
}

// move puts a queued item before another or at the end. It lists all queued items in order, and reassigns the places.
func (m *model) move(d *events.QueueItemMoved) {
	item := m.item(d.Queue, d.TaskID)
	if d.Before == "" {
		m.pushes++
		item.returned, item.pushed = false, m.pushes
		return
	}
	type place struct {
		returned bool
		pushed   int
	}
	var line []*modelItem
	for _, other := range m.queues[d.Queue].items {
		if other.status == events.ItemQueued {
			line = append(line, other)
		}
	}
	slices.SortFunc(line, func(a, b *modelItem) int {
		if a.returned != b.returned {
			return 2*index(b.returned) - 1
		}
		return a.pushed - b.pushed
	})
	var places []place
	for _, other := range line {
		places = append(places, place{other.returned, other.pushed})
	}
	line = slices.DeleteFunc(line, func(i *modelItem) bool { return i == item })
	at := slices.Index(line, m.item(d.Queue, d.Before))
	for n, other := range slices.Insert(line, at, item) {
		other.returned, other.pushed = places[n].returned, places[n].pushed
	}
}

// saysDone reports whether a task's sessionStatus is completed: of the reports of sessions that have not ended, and of
// what any session reported as the end of its work, the newest counts.
func (m *model) saysDone(t *modelTask) bool {
	for _, word := range slices.Backward(t.words) {
		ends := word.says == events.SaysCompleted || word.says == events.SaysFailed
		if ends || !m.ended[word.session] {
			return word.says == events.SaysCompleted
		}
	}
	return false
}

func (m *model) eligible(q *modelQueue, item *modelItem) bool {
	t := m.tasks[item.task]
	if t.deleted || t.status == events.TaskCompleted || t.status == events.TaskCancelled ||
		t.status == events.TaskBlocked {
		return false
	}
	for _, id := range t.dependencies {
		d := m.tasks[id]
		if d.status != events.TaskCompleted && (!q.trust || d.deleted || !m.saysDone(d)) {
			return false
		}
	}
	return true
}

// trusted reports whether an item may be started only because its queue trusts reports.
func (m *model) trusted(q *modelQueue, item *modelItem) bool {
	return m.eligible(q, item) && !m.eligible(&modelQueue{}, item)
}

// ready counts the items that may be started in all queues.
func (m *model) ready() int {
	count := 0
	for _, q := range m.queues {
		for _, item := range q.items {
			if item.status == events.ItemQueued && m.eligible(q, item) {
				count++
			}
		}
	}
	return count
}

func endsSession(data any) bool {
	switch data.(type) {
	case *events.SessionKilled, *events.SessionTimedOut, *events.SessionDeleted, *events.SessionExited,
		*events.SessionResumed:
		return true
	}
	return false
}

// seen counts what occurred, so that a test does not pass because nothing happens in it.
type seen struct{ passedOver, trusted, returned, empty, flipped, finished int }

// check compares a state with the model.
func (m *model) check(t *testing.T, where string, s *State, n *seen) {
	t.Helper()
	for name, q := range m.queues {
		var queued []*modelItem
		want := QueueStats{Total: len(q.items)}
		pushed := slices.SortedFunc(slices.Values(q.items), func(a, b *modelItem) int {
			return cmp.Compare(a.pushed,
				b.pushed)
		})
		for _, item := range pushed {
			*want.counterOf(item.status)++
			if item.status == events.ItemQueued {
				queued = append(queued, item)
			}
		}
		slices.SortStableFunc(queued, func(a, b *modelItem) int { // returned items before all others
			switch {
			case a.returned == b.returned:
				return 0
			case a.returned:
				return -1
			}
			return 1
		})
		top, passedOver, ready := "", 0, 0
		for _, item := range queued {
			switch {
			case m.eligible(q, item):
				if ready++; top == "" {
					top = item.task
				}
				if item.returned {
					n.returned++
				}
				if m.trusted(q, item) {
					n.trusted++
				}
			case top == "":
				passedOver++
			}
		}
		if top == "" {
			n.empty++
		} else if passedOver > 0 {
			n.passedOver++
		}

		real := s.Queue("p", name)
		got, gotPassed := s.Top(real)
		gotTop := ""
		if got != nil {
			gotTop = got.TaskID
		}
		view := s.QueueView(real)
		if gotTop != top || gotPassed != passedOver || view.Ready != ready || view.Waiting != len(queued)-ready ||
			view.Stats != want {
			t.Fatalf("%s: queue %s has on top %q after %d, %d ready, %d waiting, %+v\n"+
				"want %q after %d, %d ready, %d waiting, %+v",
				where, name, gotTop, gotPassed, view.Ready, view.Waiting, view.Stats, top, passedOver, ready,
				len(queued)-ready, want)
		}
		finished := real.Pushed > 0 && want.Processing == 0 && !slices.ContainsFunc(queued, func(item *modelItem) bool {
			t := s.Task(item.task)
			return t != nil && t.Status != events.TaskCompleted && t.Status != events.TaskCancelled
		})
		if finished && len(queued) > 0 {
			n.finished++
		}
		if s.Finished(real) != finished {
			t.Fatalf("%s: queue %s is finished: %v, want %v", where, name, !finished, finished)
		}
		items := s.Items(real)
		for i, item := range pushed {
			if items[i].TaskID != item.task || items[i].Status != item.status {
				t.Fatalf("%s: item %d of queue %s is %s, %s, want %s, %s", where, i, name, items[i].TaskID,
					items[i].Status, item.task, item.status)
			}
			if waits := s.WaitsFor(real, items[i]); item.status == events.ItemQueued && (waits == "") != m.eligible(q,
				item) {
				t.Fatalf("%s: item %s of queue %s waits for %q", where, item.task, name, waits)
			}
		}
	}
}

// randomChange returns a random event of tasks, sessions and queues of project p, which may not fit the state.
func randomChange(r *rand.Rand, s *State) given {
	tasks := idsOf(s.Tasks("p"), func(x *Task) string { return x.ID })
	sessions := idsOf(s.Sessions("p"), func(x *Session) string { return x.ID })
	one := func(from []string) string {
		if len(from) == 0 {
			return "none"
		}
		return from[r.IntN(len(from))]
	}
	// The dependencies of a task are older ones, so there is no cycle; some may have been deleted.
	older := func(n int) *[]string {
		ids := []string{}
		for i := range n {
			if id := fmt.Sprintf("m%d", i); r.IntN(4) == 0 && (i < 4 || n-i < 3) && s.tasks.get(id) != nil {
				ids = append(ids, id)
			}
		}
		return &ids
	}
	statuses := []events.TaskStatus{
		events.TaskTodo, events.TaskTodo, events.TaskInProgress, events.TaskInProgress,
		events.TaskInProgress, events.TaskCompleted, events.TaskCancelled, events.TaskBlocked,
	}
	status := statuses[r.IntN(len(statuses))]
	switch r.IntN(20) {
	case 0, 1:
		n := len(s.taskIDs.get("p"))
		return by(admin, &events.TaskCreated{TaskID: fmt.Sprintf("m%d", n), Title: "m", Dependencies: *older(n)})
	case 2, 12:
		n := r.IntN(1 + len(s.taskIDs.get("p")))
		update := &events.TaskUpdated{TaskID: fmt.Sprintf("m%d", n), Dependencies: older(n)}
		if r.IntN(4) == 0 {
			update.Status = &events.StatusChange{To: status}
		}
		return by(admin, update)
	case 3:
		return by(admin, &events.TaskStatusChanged{TaskID: one(tasks), To: status})
	case 5:
		if id := one(tasks); r.IntN(4) == 0 {
			return by(admin, &events.TaskDeleted{TaskID: id})
		}
		return given{by: "/system", data: &events.SessionRecovered{SessionID: one(sessions)}}
	case 6, 15:
		id := fmt.Sprintf("s%d", len(s.sessionIDs.get("p")))
		queue := []string{id, "a", "a", "a", "a", "a", "b"}[r.IntN(7)]
		spawned := &events.SessionSpawned{
			SessionID: id,
			Name:      id,
			Role:      events.RoleWorker,
			Strategy:  events.StrategyQueue,
			Queue:     queue,
		}
		if queue == id {
			for _, task := range tasks {
				if r.IntN(3) == 0 {
					spawned.Queued = append(spawned.Queued, task)
				}
			}
		}
		return by(admin, spawned)
	case 7:
		if task := s.Task(one(awaited(s))); task != nil {
			if _, speaker := s.SessionStatus(task); s.Session(speaker) != nil {
				sessions = []string{speaker} // its end makes another session's report count
			}
		}
		if r.IntN(3) == 0 {
			return by(admin, &events.SessionDeleted{SessionID: one(sessions)})
		}
		return by(admin, &events.SessionKilled{SessionID: one(sessions), Status: events.SessionStopped})
	case 4, 8, 9, 10, 11, 13, 14, 16:
		id := one(sessions)
		x := s.Session(id)
		about := tasks
		if r.IntN(3) > 0 {
			about = awaited(s)
		}
		kind := []events.ReportKind{
			events.ReportProgress, events.ReportComplete, events.ReportComplete,
			events.ReportBlocked,
		}[r.IntN(4)]
		return report(SessionSource("p", id), id, kind, "m", one(about)).late(x != nil && x.Ended())
	}
	g, _ := likely(r, s, nil)
	return g
}

// awaited returns the tasks for which items of the queue that trusts reports wait.
func awaited(s *State) []string {
	var ids []string
	if q := s.Queue("p", "a"); q != nil {
		for _, item := range s.Items(q) {
			if t := s.Task(item.TaskID); t != nil && item.Status == events.ItemQueued {
				ids = append(ids, s.UnmetDependencies(t)...)
			}
		}
	}
	return ids
}

func (g given) late(late bool) given {
	g.data.(*events.SessionReported).Late = late
	return g
}

var stories = flag.Int("stories", 30, "how many random stories of queues TestQueueLine tells")

// After any events, the next item of a queue and the number of items waiting before it follow docs/contract.md,
// "Queues": on an overlay, after one was dropped or committed, and after a snapshot.
func TestQueueLine(t *testing.T) {
	var n seen
	for seed := range uint64(*stories) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := newModel()
		base := New()
		overlay := base.Overlay()
		apply(t, overlay, project())
		overlay.Commit()
		for step := range 250 {
			where := func(what string) string { return fmt.Sprintf("seed %d, step %d, %s", seed, step, what) }
			if r.IntN(4) == 0 {
				overlay.Commit()
				m.check(t, where("committed"), base, &n)
				for range 1 + r.IntN(4) { // decided, and dropped
					if g := randomChange(r, overlay); g.data != nil {
						try(t, overlay, g)
					}
				}
				overlay.Drop()
				m.check(t, where("dropped"), overlay, &n)
			}
			g := randomChange(r, overlay)
			if g.data == nil || !try(t, overlay, g) {
				continue
			}
			before := m.ready()
			m.apply(g.data)
			if endsSession(g.data) && m.ready() != before {
				n.flipped++
			}
			m.check(t, where(g.data.EventType()), overlay, &n)
			if seed%2 == 0 && r.IntN(8) == 0 { // rebuilding would hide what the fold forgot
				overlay.Commit()
				read, err := Decode([]byte(encode(t, base)))
				if err != nil {
					t.Fatal(err)
				}
				m.check(t, where("read again"), read, &n)
				base = read
				overlay = base.Overlay()
			}
		}
	}
	if n.passedOver < 200 || n.trusted < 200 || n.returned < 200 || n.empty < 200 || n.flipped < 5 || n.finished < 20 {
		t.Errorf("too few things happened: %+v", n)
	}
}

// TestItemsOfAQueueAreBounded: an answer leaves out finished items first, and counts them.
func TestItemsOfAQueueAreBounded(t *testing.T) {
	s := New()
	q := &Queue{ProjectID: "p", Name: "q", MaxAttempts: 3}
	s.openQueue(q)
	key := queueKey("p", "q")
	statuses := []events.QueueItemStatus{events.ItemCompleted, events.ItemQuarantined, events.ItemSkipped}
	for i := range ItemsListed + len(statuses) {
		id := fmt.Sprint("t", i)
		item := &Item{
			ProjectID: "p",
			Queue:     "q",
			TaskID:    id,
			Status:    events.ItemQueued,
			Place:     uint64(i) | notReturned,
		}
		if i < len(statuses) {
			item.Status = statuses[i]
		}
		s.enter(key, itemKey("p", "q", id), item)
	}
	views, more := itemViews(s, q, nil)
	if len(views) != ItemsListed || more != 3 || views[0].TaskID != "t1" || views[1].TaskID != "t3" {
		t.Errorf("%d are listed and %d counted; the first are %s and %s", len(views), more, views[0].TaskID,
			views[1].TaskID)
	}
	views, more = itemViews(s, q, func(item *Item) bool { return item.Status == events.ItemSkipped })
	if len(views) != 1 || more != 0 || views[0].TaskID != "t2" {
		t.Errorf("those that were skipped are %+v, and %d more", views, more)
	}
}

// itemViews shows the items of a queue.
func itemViews(s *State, q *Queue, keep func(*Item) bool) (views []ItemView, more int) {
	x := s.SearchItems(q, keep, 0, 0)
	s.ItemsOn(x, untilDone)
	listed, more := x.Choose()
	views, _ = s.ViewItems(x.Show(listed), nil, len(listed), untilDone)
	return views, more
}

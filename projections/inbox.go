package projections

import (
	"cmp"
	"slices"
	"strings"

	"maestro/events"
)

// InboxKind is why something needs a person.
type InboxKind string

// The kinds of inbox items.
const (
	InboxQuestion InboxKind = "question" // a session asks
	// a task is blocked, or is said to be, or a session says that it is itself
	InboxBlocked InboxKind = "blocked"
	// a task or a session is said to have failed, or a session ended as failed
	InboxFailed      InboxKind = "failed"
	InboxUnconfirmed InboxKind = "unconfirmed" // a task is said to be done, and nobody has confirmed it
	InboxQuarantined InboxKind = "quarantined" // a queue item was started too often
	// a queue item or a task waits for something that will not happen, or the agent of a session is silent or repeats
	// itself
	InboxStuck      InboxKind = "stuck"
	InboxStranded   InboxKind = "stranded"   // a queue has items, and its session is gone
	InboxUnattended InboxKind = "unattended" // work was started on a task, and no session does it
	InboxUnstarted  InboxKind = "unstarted"  // a session was spawned, and never started
	InboxExited     InboxKind = "exited"     // the command of a session ended, and the session did not
	InboxLost       InboxKind = "lost"       // a session is silent
	InboxLate       InboxKind = "late"       // a report came after its session's end
	InboxRefused    InboxKind = "refused"    // a kept command was refused
	InboxUnread     InboxKind = "unread"     // a project has too much for one read
)

// InboxItem is one thing that needs a person's attention.
type InboxItem struct {
	Kind      InboxKind `json:"kind"`
	ProjectID string    `json:"projectId"`
	TaskID    string    `json:"taskId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	// SessionName is the name of that session, TaskTitle the title of that task.
	SessionName string `json:"sessionName,omitempty"`
	TaskTitle   string `json:"taskTitle,omitempty"`
	// SaidDone marks a question of a session that has since said that its work is done.
	SaidDone bool   `json:"saidDone,omitempty"`
	Queue    string `json:"queue,omitempty"`
	InputID  string `json:"inputId,omitempty"`
	// Run is set for a question that keeps this run of the session from starting its agent.
	Run int `json:"run,omitempty"`
	// EntryID is the timeline entry, or the record of the refusal, that it shows.
	EntryID string `json:"entryId,omitempty"`
	// What names the object, Message describes the problem, in the words of its reporter.
	What    string   `json:"what"`
	Message string   `json:"message,omitempty"`
	Options []string `json:"options,omitempty"`
	// Cut says that Message is only the beginning.
	Cut bool `json:"cut,omitempty"`
	// More is how many further items of its kind it stands for; 0 for an ordinary item.
	More int `json:"more,omitempty"`
	// Holds says who is blocked: a session, or work; empty if nobody is.
	Holds InboxHolds `json:"holds,omitempty"`
	// Priority is that of its task, HoldsUp the number of open tasks that depend on the task.
	Priority string `json:"priority,omitempty"`
	HoldsUp  int    `json:"holdsUp,omitempty"`
	// Since is when the wait began, in milliseconds since 1970; Waited is its duration.
	Since  events.Millis `json:"since"`
	Waited int64         `json:"waited"`
	// Next are the commands of which one is to be chosen.
	Next []string `json:"next"`

	// Order is its position in the requested list, lowest first.
	Order int64 `json:"-"`

	// since are the times when the waits of the items began that it stands for.
	since []int64
}

// Things counts the things that need a person: the item itself, or those that it stands for.
func (item *InboxItem) Things() int { return max(1, item.More) }

// NewThings counts the things that have waited since a time or later.
func (item *InboxItem) NewThings(at int64) (n int) {
	if item.More == 0 && int64(item.Since) >= at {
		return 1
	}
	for _, since := range item.since {
		if since >= at {
			n++
		}
	}
	return n
}

// inbox collects what needs a person.
type inbox struct {
	*listener
	chores

	project string
	// concerns selects what the reader deals with; nil for a reader of everything.
	concerns InboxScope
	found    []found
	// looks is how many more dependencies it may examine.
	looks     int
	expensive expensiveWork
	// unread names the remaining parts, in order.
	unread []string
}

// found is an item without its text: many may be found, and few are shown.
type found struct {
	itemScope
	since int64
	// tell creates the item except for what is known here.
	tell func() InboxItem
}

// on is chores.on, on the present state.
func (b *inbox) on(s *State, until uint64) (done bool) {
	b.State = s
	return b.chores.on(s, until)
}

// newInbox starts to collect what needs a person's attention.
func (l *listener) newInbox(project string) *inbox {
	s := l.State
	b := &inbox{
		listener:  l,
		project:   project,
		looks:     WaitsLooked,
		expensive: newExpensiveWork(),
	}
	served := map[string]bool{}
	b.part("questions", s.unanswered.get(project).each(func(id string) { b.question(b.inputs.get(id)) }))
	b.part("tasks", s.taskAttention.get(project).each(func(id string) {
		if t := b.Task(id); t != nil {
			b.task(t)
		}
	}))
	b.part("sessions", s.sessionAttention.get(project).each(func(id string) {
		x := b.Session(id)
		if x == nil {
			return
		}
		b.session(x)
		if x.Queue != "" && b.Gone(x.ID) == "" && x.Active() {
			served[x.Queue] = true
		}
	}))
	b.part("late reports", each(s.late.get(project), b.late))
	b.part("queues", each(s.queueNames.get(project), func(name string) {
		if q := b.Queue(project, name); q != nil {
			b.queue(q, served[q.Name])
		}
	}))
	b.part("what failed sessions left open", b.lookAtFailed())
	b.part("tasks that nobody works on", b.lookAtBegun())
	slices.Reverse(b.todo) // the last one runs first
	return b
}

// part adds a part of the search, after the others.
func (b *inbox) part(name string, look func() (more bool)) {
	b.unread = append(b.unread, name)
	b.add(look)
	b.add(finally(func() { b.unread = b.unread[1:] }))
}

// stop drops the remaining work, and returns the names of the unfinished parts.
func (b *inbox) stop() (unread []string) {
	b.todo, unread = nil, b.unread
	return unread
}

// size is the approximate memory that the search takes, in bytes.
func (b *inbox) size() int64 {
	const foundSize, begunSize, knownSize = 256, 48, 48 // with the room that lists and maps keep
	known := len(b.known) + len(b.expensive.working) + len(b.expensive.above)
	return int64(len(b.found))*foundSize + int64(len(b.expensive.begun))*begunSize + int64(known)*knownSize
}

// sort sorts what was found, longest wait first.
func (b *inbox) sort() {
	slices.SortStableFunc(b.found, func(x, y found) int { return cmp.Compare(x.since, y.since) })
}

// item creates an item with the beginning of its message.
func (b *inbox) item(item *InboxItem, w wanted) {
	*item = w.tell()
	item.Kind, item.ProjectID, item.Since = w.kind, b.project, events.Millis(w.since)
	item.SessionName, item.TaskTitle = b.sessionName(item.SessionID), b.taskTitle(item.TaskID)
	if w.more > 0 {
		*item = item.others()
		item.More, item.since = w.more, w.moreSince
		item.sayHowMany()
		return
	}
	item.cut()
	b.weigh(item)
}

// find adds an item of a session, a task and a queue, each "" for none.
func (b *inbox) find(kind InboxKind, session, task, queue string, since int64, tell func() InboxItem) {
	if !b.inScope(session, task) {
		return
	}
	of := itemScope{kind: kind, session: session}
	if queue != "" {
		of = itemScope{kind: kind, queue: queue}
	}
	b.found = append(b.found, found{of, since, tell})
}

// workOf returns the task that a session works on: that of the item that it holds, or its first.
func (b *inbox) workOf(x *Session) string {
	if item := b.Holds(x); item != nil {
		return item.TaskID
	}
	return first(x.TaskIDs)
}

func (b *inbox) task(t *Task) {
	if t.Over() {
		return
	}
	says, session := b.says(t)
	b.alsoBlocked(t, session)
	b.claimed(t, says)
	if says == events.SaysBlocked || says == events.SaysFailed {
		b.lookedThrough(t.Speakers())
		says = b.Stands(t, t.SaidBy(session))
	}
	kind, since := InboxBlocked, int64(0)
	if session != "" {
		b.lookedThrough(t.Speakers())
		since = int64(t.SaidBy(session).At)
	}
	if says == events.SaysFailed || says == events.SaysBlocked && !b.worksOn(session, t) {
		if b.wentOn(t, t.SaidBy(session)) {
			says = ""
		}
	}
	switch {
	case t.Status != events.TaskBlocked && b.takenUp(t, says, session, since):
		return
	case says == events.SaysBlocked:
	case t.Status == events.TaskBlocked:
		since = t.StatusAt
	case says == events.SaysFailed:
		kind = InboxFailed
	case says == events.SaysCompleted:
		kind = InboxUnconfirmed
	default:
		switch {
		case t.begun() || b.allBelowEnded(t):
			b.expensive.begun = append(b.expensive.begun, begun{t.ID, session})
		case !b.setAside(t):
			b.inVain(t)
		}
		return
	}
	b.find(kind, session, t.ID, "", since, func() InboxItem { return b.tellTask(t, kind, says, session) })
}

func (b *inbox) tellTask(t *Task, kind InboxKind, says events.TaskSessionStatus, session string) InboxItem {
	item := InboxItem{TaskID: t.ID, SessionID: session, What: t.Title}
	b.lookedThrough(t.Speakers())
	gone := b.Gone(session)
	item.Message = t.SaidBy(session).Words.String()
	switch {
	case says == events.SaysBlocked:
		item.Next = b.goOn(t, session, gone)
	case kind == InboxBlocked:
		item.Next = []string{"maestro task reopen " + t.ID + ` "…"`}
		item.Message = textOf("it was blocked"+byWhom(t.StatusReason()), t.StatusReasonText())
	case kind == InboxFailed:
		item.Next = append([]string{"maestro why " + t.ID}, b.goOn(t, session, gone)...)
	default:
		item.Next = []string{b.complete(t), "maestro task reopen " + t.ID + ` "<what is missing>"`}
	}
	result := t.Result()
	if kind == InboxUnconfirmed && result != nil && result.By == SessionSource(t.ProjectID, session) {
		item.Message = result.Text // the completion of a queue item has no text of its own
	}
	if kind == InboxUnconfirmed {
		item.doubted(t.SaidBy(session))
		b.contested(&item, t)
		b.unreadMail(&item, session)
	}
	return item
}

// goOn returns the commands of which each gets a task going again after a session said that it cannot continue; gone is
// what became of the session, "" if it still works.
func (b *inbox) goOn(t *Task, session, gone string) []string {
	for _, item := range b.QueuesOf(t.ID) {
		if item.Status == events.ItemFailed {
			return []string{requeue(item)}
		}
	}
	if gone == "" && b.worksOn(session, t) { // one that said it is done may run no further command
		return []string{"maestro session message " + session + ` "…" --about ` + t.ID}
	}
	return b.spawn(t)
}

func (b *inbox) queue(q *Queue, served bool) {
	if gone := b.Gone(q.SessionID); q.SessionID != "" && gone != "" && q.Stats.Queued > 0 && !served {
		b.stranded(q, gone)
	}
	if q.SessionID == "" && !served {
		b.unserved(q)
	}
	b.stuck(q)
	b.stalled(q)
	if q.Stats.Quarantined > 0 {
		b.quarantine(q)
	}
}

// quarantine adds quarantined items.
func (b *inbox) quarantine(q *Queue) {
	var items []*Item
	b.add(finally(func() {
		inOrder(items)
		for _, item := range items {
			b.find(InboxQuarantined, item.SessionID, item.TaskID, q.Name, item.CompletedAt, func() InboxItem {
				return InboxItem{
					TaskID:    item.TaskID,
					SessionID: item.SessionID,
					Queue:     q.Name,
					What:      b.titleOf(item.TaskID),
					Message:   b.afterClaim(item, textOf(startedInVain(item), item.FailReason)),
					Next:      b.unlessClaimed(item, requeue(item)),
				}
			})
		}
	}))
	b.add(each(b.itemTasks.get(queueKey(q.ProjectID, q.Name)), func(task string) {
		item := b.Item(q.ProjectID, q.Name, task)
		if item != nil && item.Status == events.ItemQuarantined && !b.done(task) &&
			!b.given(b.Task(task), 0, item.CompletedAt) {
			b.lookedThrough(16)
			items = append(items, item)
		}
	}))
}

// UnreadInbox returns an item for those that a project's inbox omitted because there were too many.
func UnreadInbox(p *Project, unread []string) InboxItem {
	return InboxItem{
		Kind:      InboxUnread,
		ProjectID: p.ID,
		What:      p.Name,
		Since:     events.Millis(p.UpdatedAt),
		Message: "this project is too large for the inbox to read in one go; it did not look at all of: " +
			strings.Join(unread, ", "),
		Next: []string{"maestro task list --project " + p.ID},
	}
}

// stranded adds a queue whose session is gone. The wait began then, or when the first remaining item was pushed.
func (b *inbox) stranded(q *Queue, gone string) {
	var first *Item
	b.add(finally(func() {
		if first == nil {
			return
		}
		since := first.AddedAt
		if x := b.SessionEver(q.SessionID); x != nil {
			since = max(since, cmp.Or(x.EndedAt, x.LostAt))
		}
		b.find(InboxStranded, q.SessionID, first.TaskID, q.Name, since, func() InboxItem {
			return InboxItem{
				SessionID: q.SessionID,
				Queue:     q.Name,
				What:      b.nameOf(q.SessionID),
				Message:   "items wait in its queue, and it is " + gone,
				Next:      []string{b.spawnFor(q, q.SessionID)},
			}
		})
	}))
	b.add(each(b.itemTasks.get(queueKey(q.ProjectID, q.Name)), func(task string) {
		item := b.Item(q.ProjectID, q.Name, task)
		if item == nil || item.Status != events.ItemQueued || b.done(task) || !b.inScope(q.SessionID, task) {
			return
		}
		if first == nil || byPush(item, first) < 0 {
			first = item
		}
	}))
}

func (b *inbox) late(e *Entry) {
	if b.Session(e.SessionID) == nil || e.TaskID != "" && b.done(e.TaskID) {
		return
	}
	b.find(InboxLate, e.SessionID, "", "", e.At, func() InboxItem {
		return InboxItem{
			TaskID:    e.TaskID,
			SessionID: e.SessionID,
			EntryID:   e.ID(),
			What:      b.nameOf(e.SessionID),
			Message:   e.Message,
			Next:      []string{"maestro why " + e.SessionID},
		}
	})
}

// inScope reports whether the reader deals with a session or a task.
func (b *inbox) inScope(session, task string) bool {
	return b.concerns == nil || b.concerns(session, task)
}

// done reports whether a task needs nobody any more.
func (b *inbox) done(task string) bool {
	t := b.Task(task)
	return t == nil || t.Over()
}

func (b *inbox) nameOf(session string) string {
	if x := b.sessions.get(session); x != nil {
		return x.Name
	}
	return session
}

func (b *inbox) titleOf(task string) string {
	if t := b.tasks.get(task); t != nil {
		return t.Title
	}
	return task
}

func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

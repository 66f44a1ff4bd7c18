package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// InboxKind says why something needs a person.
type InboxKind string

// The kinds of what needs a person.
const (
	InboxQuestion    InboxKind = "question"    // a session asks
	InboxBlocked     InboxKind = "blocked"     // a task is blocked, or is said to be
	InboxFailed      InboxKind = "failed"      // a task is said to have failed, or a session ended so
	InboxUnconfirmed InboxKind = "unconfirmed" // a task is said to be done, and nobody has confirmed it
	InboxQuarantined InboxKind = "quarantined" // a queue's item was started too often
	InboxStuck       InboxKind = "stuck"       // a queue's item waits for what will not come
	InboxStranded    InboxKind = "stranded"    // a queue has items, and its session is gone
	InboxLost        InboxKind = "lost"        // nothing is heard of a session
	InboxLate        InboxKind = "late"        // a report came after its session's end
	InboxRefused     InboxKind = "refused"     // a kept command was refused
)

// InboxItem is one thing that needs a person.
type InboxItem struct {
	Kind      InboxKind `json:"kind"`
	ProjectID string    `json:"projectId"`
	TaskID    string    `json:"taskId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	Queue     string    `json:"queue,omitempty"`
	InputID   string    `json:"inputId,omitempty"`
	// EntryID is the entry of the timeline, or the record of the refusal, that it shows.
	EntryID string `json:"entryId,omitempty"`
	// What names the thing, Message says what is the matter, in the words of who said it.
	What    string   `json:"what"`
	Message string   `json:"message,omitempty"`
	Options []string `json:"options,omitempty"`
	// Cut says that Message is only the beginning of it.
	Cut bool `json:"cut,omitempty"`
	// More is how many further items of its kind it stands for; 0 if it is an item itself.
	More int `json:"more,omitempty"`
	// Since is since when it waits, in milliseconds since 1970; Waited is how long that is.
	Since  int64 `json:"since"`
	Waited int64 `json:"waited"`
	// Next is what to do about it.
	Next string `json:"next"`

	// since are the times since when the items wait that it stands for.
	since []int64
}

// StandsFor lets the item stand for n more that wait since a time.
func (item *InboxItem) StandsFor(n int, since int64) {
	item.More += n
	for range n {
		item.since = append(item.since, since)
	}
}

// Things counts what needs a person: the item itself, or what it stands for.
func (item *InboxItem) Things() int { return max(1, item.More) }

// NewThings counts those that wait since a time, or since later.
func (item *InboxItem) NewThings(at int64) (n int) {
	if item.More == 0 && item.Since >= at {
		return 1
	}
	for _, since := range item.since {
		if since >= at {
			n++
		}
	}
	return n
}

// inbox gathers what needs a person.
type inbox struct {
	*State
	project string
	// concerns says whether a session is the reader's; nil for a reader whom everything concerns.
	concerns func(session string) bool
	items    []InboxItem
}

// Inbox gives what needs a person in a project, longest wait first. concerns narrows it to what certain sessions did;
// nil for everything. Of what one session or queue does, it lists a limited number of items.
func (s *State) Inbox(project string, concerns func(session string) bool) []InboxItem {
	return bounded(s.inbox(project, concerns))
}

// InboxOf gives all that one session did and that needs a person, longest wait first.
func (s *State) InboxOf(session string) []InboxItem {
	items := s.inbox(s.SessionProject(session), func(id string) bool { return id == session })
	for i := range items {
		items[i].cut()
	}
	return items
}

func (s *State) inbox(project string, concerns func(session string) bool) []InboxItem {
	b := &inbox{State: s, project: project, concerns: concerns, items: []InboxItem{}}
	for x := range s.Unanswered(project) {
		b.question(x)
	}
	for t := range s.Tasks(project) {
		b.task(t)
	}
	served := map[string]bool{}
	for x := range s.Sessions(project) {
		b.session(x)
		if x.Queue != "" && s.Gone(x.ID) == "" && x.Active() {
			served[x.Queue] = true
		}
	}
	for q := range s.Queues(project) {
		b.queue(q, served[q.Name])
	}
	for _, e := range s.late.get(project) {
		b.late(e)
	}
	slices.SortStableFunc(b.items, longestWait)
	return b.items
}

func (b *inbox) add(session string, item InboxItem) {
	if b.concerns != nil && !b.concerns(session) {
		return
	}
	item.ProjectID = b.project
	b.items = append(b.items, item)
}

func (b *inbox) question(x *Input) {
	next := "maestro input answer " + x.ID + ` "…"`
	b.add(x.SessionID, InboxItem{
		Kind: InboxQuestion, SessionID: x.SessionID, TaskID: first(x.TaskIDs), InputID: x.ID, What: b.nameOf(x.SessionID),
		Message: x.Question, Options: x.Options, Since: x.AskedAt, Next: next,
	})
}

func (b *inbox) task(t *Task) {
	if t.Status == events.TaskCompleted || t.Status == events.TaskCancelled {
		return
	}
	says, session := b.SessionStatus(t)
	said := wordOf(t, session)
	item := InboxItem{TaskID: t.ID, SessionID: session, What: t.Title, Since: said.At}
	switch {
	case says == events.SaysBlocked && b.Gone(session) == "":
		item.Kind, item.Next = InboxBlocked, "clear the way, then tell "+session
	case says == events.SaysBlocked:
		item.Kind, item.Next = InboxBlocked, "clear the way, then spawn a session for it: "+session+" is "+b.Gone(session)
	case t.Status == events.TaskBlocked:
		item.Kind, item.Since, item.Next = InboxBlocked, t.StatusAt, "maestro task reopen "+t.ID
		said.Sequence = t.StatusSequence
	case says == events.SaysFailed:
		item.Kind, item.Next = InboxFailed, "maestro why "+t.ID
	case says == events.SaysCompleted:
		item.Kind, item.Next = InboxUnconfirmed, "maestro task complete "+t.ID+", or maestro task reopen "+t.ID
	default:
		return
	}
	result := t.Result()
	if item.Kind == InboxUnconfirmed && result != nil && result.By == SessionSource(t.ProjectID, session) {
		said.Sequence = result.Sequence // a queue's completion has no words of its own
	}
	item.Message = b.TaskTimeline(t.ID).at(said.Sequence).Text()
	b.add(session, item)
}

// wordOf gives what a session says of a task.
func wordOf(t *Task, session string) Said {
	for _, said := range t.Says {
		if said.SessionID == session {
			return said
		}
	}
	return Said{}
}

// at gives the last entry that an event put on the timeline, an empty one if it put none there.
func (t Timeline) at(sequence uint64) *Entry {
	behind, _ := slices.BinarySearchFunc(t, sequence+1, func(e *Entry, sequence uint64) int {
		return cmp.Compare(e.Sequence, sequence)
	})
	if behind == 0 || t[behind-1].Sequence != sequence {
		return &Entry{}
	}
	return t[behind-1]
}

func (b *inbox) session(x *Session) {
	item := InboxItem{SessionID: x.ID, TaskID: first(x.TaskIDs), What: x.Name, Next: "maestro why " + x.ID}
	switch {
	case x.Lost() && !x.Ended():
		item.Kind, item.Since, item.Message = InboxLost, x.LostAt, "nothing is heard of it"
		item.Next = "maestro session kill " + x.ID + ", or wait until it is heard again"
	case x.Status == events.SessionEndFailed && b.leftOver(x):
		item.Kind, item.Since, item.Message = InboxFailed, x.EndedAt, x.EndReason
	default:
		return
	}
	b.add(x.ID, item)
}

// leftOver reports whether a session left a task behind that nobody works on.
func (b *inbox) leftOver(x *Session) bool {
	return slices.ContainsFunc(x.TaskIDs, func(id string) bool {
		t := b.Task(id)
		return t != nil && t.Status != events.TaskCompleted && t.Status != events.TaskCancelled && b.ActiveSession(t) == ""
	})
}

func (b *inbox) queue(q *Queue, served bool) {
	if q.Stats.Quarantined > 0 {
		for _, item := range b.Items(q) {
			if item.Status != events.ItemQuarantined || b.done(item.TaskID) {
				continue
			}
			b.add(item.SessionID, InboxItem{
				Kind: InboxQuarantined, TaskID: item.TaskID, SessionID: item.SessionID, Queue: q.Name, What: b.titleOf(item.TaskID),
				Message: item.FailReason, Since: item.CompletedAt, Next: "maestro queue requeue " + item.TaskID + " --queue " + q.Name,
			})
		}
	}
	key := queueKey(q.ProjectID, q.Name)
	b.waiting.get(key).walk(func(task string) bool {
		if item := b.Item(q.ProjectID, q.Name, task); !b.done(task) && b.Stuck(q, item) {
			b.add(q.SessionID, InboxItem{
				Kind: InboxStuck, TaskID: task, Queue: q.Name, What: b.titleOf(task), Message: b.WaitsFor(q, item), Since: item.AddedAt,
				Next: "maestro task update " + task + " --depends-on …",
			})
		}
		return true
	})
	if gone := b.Gone(q.SessionID); q.SessionID != "" && gone != "" && q.Stats.Queued > 0 && !served {
		b.stranded(q, gone)
	}
}

// stranded adds a queue whose session is gone. It waits since then, or since the first of what is left was pushed.
func (b *inbox) stranded(q *Queue, gone string) {
	for _, item := range b.Items(q) {
		if item.Status != events.ItemQueued || b.done(item.TaskID) {
			continue
		}
		since := item.AddedAt
		if x := b.SessionEver(q.SessionID); x != nil {
			since = max(since, cmp.Or(x.EndedAt, x.LostAt))
		}
		b.add(q.SessionID, InboxItem{
			Kind: InboxStranded, SessionID: q.SessionID, Queue: q.Name, What: b.nameOf(q.SessionID),
			Message: "items wait in its queue, and it is " + gone, Since: since,
			Next: "maestro session spawn --strategy queue --queue " + q.Name,
		})
		return
	}
}

func (b *inbox) late(e *Entry) {
	if b.Session(e.SessionID) == nil || e.TaskID != "" && b.done(e.TaskID) {
		return
	}
	b.add(e.SessionID, InboxItem{
		Kind: InboxLate, TaskID: e.TaskID, SessionID: e.SessionID, EntryID: e.ID(), What: b.nameOf(e.SessionID),
		Message: e.Message, Since: e.At, Next: "maestro why " + e.SessionID,
	})
}

// done reports whether a task needs nobody any more.
func (b *inbox) done(task string) bool {
	t := b.Task(task)
	return t == nil || t.Status == events.TaskCompleted || t.Status == events.TaskCancelled
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

package oracle

import (
	"cmp"
	"maps"
	"slices"
)

// State is the state according to the documents after the log that a Judge has seen: everything that ever existed, in
// order of creation.
type State struct {
	Projects []Project
	Tasks    []Task
	// Siblings are all tasks of each project; those below the same parent are in sibling order.
	Siblings  map[string][]string
	Sessions  []Session
	Queues    []Queue
	Questions []Question
	Tokens    []Token
	Templates []Template
	Webhooks  []Webhook
	// At is the time of the newest event, in milliseconds since 1970.
	At int64
}

// Project is a project. CreatedBy is the source of its creator.
type Project struct {
	ID, CreatedBy string
	Deleted       bool
}

// Task is a task. Says is its sessionStatus, Words are the statements of sessions, newest last.
type Task struct {
	ID, Project, Parent, CreatedBy, Status, Says, PlanID string
	Deleted                                              bool
	Dependencies                                         []string
	Words                                                []Word
}

// Word is a session's statement about a task.
type Word struct{ Session, Says string }

// Session is a session. Fate is what became of it if it can no longer hold anything. Queue is the name of the queue
// that it pulls from, Holds the task of the item that it holds, Last that of the item that it held last. Times are in
// milliseconds since 1970.
type Session struct {
	ID, Project, Role, Strategy, SpawnedBy, Status string
	Commands                                       map[string]bool
	Tasks                                          []string
	Ended, Deleted, Lost, MayBeLost                bool
	Fate, Queue, Holds, Last, Manifest             string
	StartedAt, EndedAt, Deadline                   int64
	Losses, Generation                             int
	// Runner is the runner that its spawn names, Run its last run. AwaitsRunner says that its next run may begin.
	Runner       string
	Run          Run
	AwaitsRunner bool
	// Mail are the messages that it has not received, sorted.
	Mail []string
}

// Run is a launch of a session's agent; Number is 0 if there was none. Stuck is why it looks stuck, "" if it does not.
type Run struct {
	Number                            int
	Runner, Host, Conversation, Stuck string
	Exited, Resumed                   bool
}

// Queue is a named queue, or a session's own. Next is the task of the next item that may be started, after PassedOver
// others; "" if there is none.
type Queue struct {
	Project, Name, Session string
	TrustReports           bool
	MaxAttempts            int
	Items                  []Item
	Next                   string
	PassedOver             int
}

// Item is a task's place in a queue. Items are in the order of their last push.
type Item struct {
	Task, Status, Holder string
	Holders              []string
	Attempts             int
	Returned             bool
}

// Question is a session's question. Its status is open, answered, delivered or void.
type Question struct {
	ID, Project, Session, Status, Answer string
	Options                              []string
}

// Token is a named token. Made are the live tokens that it created, directly or not.
type Token struct {
	Name, Kind string
	Live       bool
	Generation int
	ExpiresAt  int64
	Made       []string
}

// Template is a created template, or a built-in one that was changed.
type Template struct {
	ID, Name, Role, Content string
	Version                 int
	Deleted                 bool
}

// Webhook is a webhook. Parked is why it sends nothing; "" while it sends. After is the sequence of the event after
// which it gets events. Started is when it began to send, in milliseconds since 1970.
type Webhook struct {
	ID, Name, URL, Project, Parked string
	Types                          []string
	Generation                     int
	After                          uint64
	Started                        int64
	Deleted                        bool
}

// State returns the state after the last line.
func (j *Judge) State() *State {
	s := &State{At: j.lastTime.UnixMilli(), Siblings: maps.Clone(j.order.siblings)}
	for _, id := range j.order.projects {
		p := j.projects[id]
		s.Projects = append(s.Projects, Project{ID: id, CreatedBy: p.by, Deleted: p.deleted})
	}
	for _, id := range j.order.tasks {
		s.Tasks = append(s.Tasks, j.taskState(j.tasks[id]))
	}
	for _, id := range j.order.sessions {
		s.Sessions = append(s.Sessions, j.sessionState(j.sessions[id]))
	}
	for _, key := range j.order.queues {
		s.Queues = append(s.Queues, j.queueState(key))
	}
	for _, id := range j.order.questions {
		q := j.questions[id]
		s.Questions = append(s.Questions, Question{
			ID:      id,
			Project: q.project,
			Session: q.session,
			Status:  j.standingOf(q),
			Answer:  q.answer,
			Options: q.options,
		})
	}
	for name, t := range j.tokens {
		s.Tokens = append(s.Tokens, Token{
			Name:       name,
			Kind:       t.kind,
			Live:       t.live,
			Generation: t.generation,
			ExpiresAt:  t.expires,
			Made:       j.made(name),
		})
	}
	slices.SortFunc(s.Tokens, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
	for _, id := range j.order.templates {
		t := j.templates[id]
		s.Templates = append(s.Templates, Template{
			ID:      id,
			Name:    t.name,
			Role:    t.role,
			Content: t.content,
			Version: t.version,
			Deleted: t.deleted,
		})
	}
	for _, id := range j.order.webhooks {
		w := j.webhooks[id]
		s.Webhooks = append(s.Webhooks, Webhook{
			ID:         id,
			Name:       w.name,
			URL:        w.url,
			Project:    w.project,
			Parked:     w.parked,
			Types:      w.types,
			Generation: w.generation,
			After:      w.after,
			Started:    w.started,
			Deleted:    w.deleted,
		})
	}
	return s
}

func (j *Judge) taskState(t *task) Task {
	state := Task{
		ID:           t.id,
		Project:      t.project,
		Parent:       t.parent,
		CreatedBy:    t.by,
		Status:       t.status,
		PlanID:       t.planID,
		Says:         j.shown(t),
		Deleted:      t.deleted,
		Dependencies: t.dependencies,
	}
	for id, w := range t.words {
		state.Words = append(state.Words, Word{id, w.says})
	}
	slices.SortFunc(state.Words, func(a, b Word) int {
		return cmp.Compare(t.words[a.Session].at, t.words[b.Session].at)
	})
	return state
}

func (j *Judge) sessionState(s *session) Session {
	state := Session{
		ID:         s.id,
		Project:    s.project,
		Role:       s.role,
		Strategy:   s.strategy,
		SpawnedBy:  s.spawnedBy,
		Status:     s.status,
		Commands:   s.commands,
		Tasks:      s.tasks,
		Ended:      s.ended != "",
		Deleted:    s.ended == endDeleted,
		Lost:       s.lost,
		MayBeLost:  s.mayBeLost(),
		Fate:       j.fate(s.id),
		Queue:      s.queue.name,
		Last:       s.last,
		Manifest:   s.manifest,
		StartedAt:  s.born.UnixMilli(),
		EndedAt:    s.endedAt.UnixMilli(),
		Deadline:   s.deadline(),
		Losses:     s.losses,
		Generation: s.generation,
		Mail:       slices.Sorted(maps.Keys(s.mail)),
	}
	state.Runner, state.AwaitsRunner = s.runner, s.ended == "" && !s.claimed() && (s.runner != "" || s.run != nil)
	if r := s.run; r != nil {
		state.Run = Run{
			Number:       r.number,
			Runner:       r.runner,
			Host:         r.host,
			Conversation: r.conversation,
			Stuck:        r.stuck,
			Exited:       r.exited,
			Resumed:      r.resumed,
		}
	}
	if s.holds != nil {
		state.Holds = s.holds.task
	}
	return state
}

func (j *Judge) queueState(key queueKey) Queue {
	q := j.queues[key]
	state := Queue{
		Project:      key.project,
		Name:         key.name,
		Session:      q.session,
		TrustReports: q.trust,
		MaxAttempts:  q.maxAttempts,
	}
	for _, i := range q.items {
		state.Items = append(state.Items, Item{
			Task:     i.task,
			Status:   i.state,
			Holder:   i.holder,
			Holders:  i.holders,
			Attempts: i.attempts,
			Returned: i.returned,
		})
	}
	slices.SortFunc(
		state.Items,
		func(a, b Item) int { return cmp.Compare(q.items[a.Task].place, q.items[b.Task].place) },
	)
	if first, before := j.first(q); first != nil {
		state.Next, state.PassedOver = first.task, before
	}
	return state
}

func (j *Judge) standingOf(q *question) string {
	switch {
	case q.delivered:
		return "delivered"
	case q.answered:
		return "answered"
	case j.sessions[q.session].ended == "" && !j.isPast(q):
		return "open"
	}
	return "void"
}

// Row is a row of docs/contract.md, "Permissions". Who are the letters of those who may use it, Event is the type that
// it becomes, without the first and last part of its name; "" for a read.
type Row struct {
	ID, Who, Event string
	Core           bool
	// Planned rows have no command yet.
	Planned bool
}

// Table returns the rows of docs/contract.md, "Permissions", in their order.
func Table() []Row {
	rows := make([]Row, 0, len(table))
	for _, r := range table {
		core := slices.Contains(coreList("W"), r.id) || slices.Contains(coreList("O"), r.id)
		rows = append(rows, Row{
			ID:    r.id,
			Who:   r.who,
			Event: r.event,
			Core:  core,

			Planned: slices.Contains(planned, r.id),
		})
	}
	return rows
}

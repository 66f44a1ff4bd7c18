package projections

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"iter"
	"slices"
	"sort"
	"strings"

	"maestro/events"
)

// Task is what is true of a task. Times are milliseconds since 1970, 0 for never. Immutable; what moves with every report
// stands apart from the fields that rarely change, which the versions of a task share.
type Task struct {
	*TaskFields
	// Status is the authoritative one: only a user or an orchestrator moves it.
	Status events.TaskStatus
	// StatusSequence is the event that last moved Status, StatusAt its time; 0 until one does.
	StatusSequence uint64
	StatusAt       int64
	// Stated is nil as long as nothing is.
	Stated *Stated `json:",omitempty"`
	// Says holds what its sessions last said of it, oldest first: of many only the newest, and Stated the others.
	// AllSays gives them together.
	Says []Said
	// SessionIDs are the sessions that have or had it.
	SessionIDs  []string
	UpdatedAt   int64
	StartedAt   int64
	CompletedAt int64
	Deleted     bool
}

// TaskFields are what a task's creation and its updates gave. Immutable.
type TaskFields struct {
	ID                 string
	ProjectID          string
	ParentID           string
	Title              string
	Description        string
	AcceptanceCriteria []string
	Priority           string
	Dependencies       []string
	InitialPrompt      string
	SkillIDs           []string
	AgentIDs           []string
	Model              string
	// Absent stays absent in the encoding: null would come back as a value.
	Metadata  json.RawMessage `json:",omitempty"`
	Blobs     events.Blobs
	CreatedAt int64
	CreatedBy string
	// CreatedSequence is the event that made it.
	CreatedSequence uint64
}

// Stated is what was said of a task and stays true of it. Immutable.
type Stated struct {
	// Reason is why its status was last moved, nil if nobody said so.
	Reason *Statement `json:",omitempty"`
	// Result is what was said when it was last said to be completed, nil if nothing was; reopening it clears it.
	Result *Statement `json:",omitempty"`
	// Earlier are words of its sessions that are older than those in Says, nil unless there are many.
	Earlier *Earlier `json:",omitempty"`
}

// StatusReason gives why the task's status was last moved, nil if nobody said so.
func (t *Task) StatusReason() *Statement {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Reason
}

// Result gives what was said when the task was last said to be completed, or nil.
func (t *Task) Result() *Statement {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Result
}

// state puts statements on the task.
func (t *Task) state(reason, result *Statement) {
	t.stated(Stated{reason, result, t.earlier()})
}

func (t *Task) stated(s Stated) {
	if t.Stated = nil; s != (Stated{}) {
		t.Stated = &s
	}
}

// Said is what one session says of a task, and since when.
type Said struct {
	SessionID string                   `json:"sessionId"`
	Status    events.TaskSessionStatus `json:"status"`
	At        int64                    `json:"at"`
	// Sequence is the event that said so.
	Sequence uint64 `json:"sequence"`
}

// Task gives the task, or nil when there is none or it was deleted.
func (s *State) Task(id string) *Task {
	if t := s.tasks.get(id); t != nil && !t.Deleted {
		return t
	}
	return nil
}

// TaskProject gives the project of a task, also of a deleted one, and "" when there never was such a task.
func (s *State) TaskProject(id string) string {
	if t := s.tasks.get(id); t != nil {
		return t.ProjectID
	}
	return ""
}

// Tasks gives a project's tasks in order of creation.
func (s *State) Tasks(project string) iter.Seq[*Task] { return s.tasksIn(s.taskIDs.get(project)) }

// Children gives the tasks directly below one, in order of creation.
func (s *State) Children(task string) iter.Seq[*Task] { return s.tasksIn(s.children.get(task)) }

func (s *State) tasksIn(ids []string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, id := range ids {
			if t := s.Task(id); t != nil && !yield(t) {
				return
			}
		}
	}
}

// TaskEver gives a task, also a deleted one, or nil.
func (s *State) TaskEver(id string) *Task { return s.tasks.get(id) }

// TasksAfter gives the tasks of projects in order of creation, behind the one that was made at a sequence; 0 for all.
func (s *State) TasksAfter(projects []string, after uint64) iter.Seq[*Task] {
	if len(projects) == 1 {
		return s.tasksFrom(s.taskIDs.get(projects[0]), after)
	}
	return func(yield func(*Task) bool) {
		var lists inTurn
		for _, project := range projects {
			ids := s.taskIDs.get(project)
			if ids = s.livingFrom(ids[s.behind(ids, after):]); len(ids) > 0 {
				lists = append(lists, taskList{s.tasks.get(ids[0]).CreatedSequence, ids})
			}
		}
		heap.Init(&lists)
		for len(lists) > 0 {
			first := &lists[0]
			if !yield(s.tasks.get(first.ids[0])) {
				return
			}
			if first.ids = s.livingFrom(first.ids[1:]); len(first.ids) == 0 {
				heap.Pop(&lists)
				continue
			}
			first.created = s.tasks.get(first.ids[0]).CreatedSequence
			heap.Fix(&lists, 0)
		}
	}
}

// ChildrenAfter gives the tasks directly below one, as TasksAfter does.
func (s *State) ChildrenAfter(task string, after uint64) iter.Seq[*Task] {
	return s.tasksFrom(s.children.get(task), after)
}

// tasksFrom gives those of the tasks that are not deleted, behind the one that was made at a sequence.
func (s *State) tasksFrom(ids []string, after uint64) iter.Seq[*Task] {
	if after == 0 {
		return s.tasksIn(ids)
	}
	return s.tasksIn(ids[s.behind(ids, after):])
}

// behind gives where the tasks begin that were made after a sequence. ids are in order of creation.
func (s *State) behind(ids []string, after uint64) int {
	return sort.Search(len(ids), func(i int) bool { return s.tasks.get(ids[i]).CreatedSequence > after })
}

// livingFrom leaves the deleted tasks at the beginning of a list out.
func (s *State) livingFrom(ids []string) []string {
	for len(ids) > 0 && s.Task(ids[0]) == nil {
		ids = ids[1:]
	}
	return ids
}

// taskList is the rest of a project's tasks, by when the first of them was made.
type taskList struct {
	created uint64
	ids     []string
}

// inTurn is a heap of lists: first the one whose first task was made first.
type inTurn []taskList

func (l inTurn) Len() int           { return len(l) }
func (l inTurn) Less(i, j int) bool { return l[i].created < l[j].created }
func (l inTurn) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// Push implements heap.Interface; lists are only taken away.
func (l *inTurn) Push(any) {}

// Pop implements heap.Interface.
func (l *inTurn) Pop() any {
	*l = (*l)[:len(*l)-1]
	return nil
}

// Startable reports whether a task is still to do and all that it depends on is completed.
func (s *State) Startable(t *Task) bool {
	return t.Status == events.TaskTodo && !slices.ContainsFunc(t.Dependencies, func(id string) bool {
		d := s.tasks.get(id)
		return d != nil && d.Status != events.TaskCompleted
	})
}

// Descendants gives the ids of the tasks below one, parents before children. It stops when it has more than most;
// most 0 is all.
func (s *State) Descendants(task string, most int) []string {
	var below []string
	for next := -1; next < len(below); next++ {
		parent := task
		if next >= 0 {
			parent = below[next]
		}
		for child := range s.Children(parent) {
			if below = append(below, child.ID); most > 0 && len(below) > most {
				return below
			}
		}
	}
	return below
}

// Depth counts the levels from the root down to a task: 1 for a root. It stops when it has counted more than most.
func (s *State) Depth(task string, most int) int {
	depth := 0
	for id := task; id != "" && depth <= most; depth++ {
		t := s.tasks.get(id)
		if t == nil {
			break
		}
		id = t.ParentID
	}
	return depth
}

// Above gives a task and those above it, as a set.
func (s *State) Above(task string) map[string]bool {
	above := map[string]bool{}
	for id := task; id != "" && !above[id]; {
		above[id] = true
		t := s.tasks.get(id)
		if t == nil {
			break
		}
		id = t.ParentID
	}
	return above
}

// Within answers for many tasks whether each is one of these tasks or below one of them. A task is looked at once,
// however many are asked for.
func (s *State) Within(these []string) func(task string) bool {
	known := make(map[string]bool, len(these))
	for _, id := range these {
		known[id] = true
	}
	return func(task string) bool {
		var path []string
		within := false
		for id := task; id != ""; {
			answer, seen := known[id]
			if seen {
				within = answer
				break
			}
			known[id] = false // until the walk ends
			path = append(path, id)
			t := s.tasks.get(id)
			if t == nil {
				break
			}
			id = t.ParentID
		}
		for _, id := range path {
			known[id] = within
		}
		return within
	}
}

// UnmetDependencies gives those dependencies of a task that are not completed; one that was deleted before it was never will be.
func (s *State) UnmetDependencies(t *Task) []string {
	var unmet []string
	for _, id := range t.Dependencies {
		if d := s.tasks.get(id); d != nil && d.Status != events.TaskCompleted {
			unmet = append(unmet, id)
		}
	}
	return unmet
}

// Dependents gives the tasks that depend on one, in order of creation.
func (s *State) Dependents(task string) []*Task {
	var found []*Task
	for _, id := range s.dependents.get(task) {
		if t := s.Task(id); t != nil {
			found = append(found, t)
		}
	}
	s.work(uint64(len(found)))
	slices.SortStableFunc(found, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return found
}

// SessionStatus gives what is said of a task and by which session: the newest word of a session that has not ended, or, if
// all have, the newest of all; "" when nobody said anything.
func (s *State) SessionStatus(t *Task) (says events.TaskSessionStatus, session string) {
	return t.saysBy(s.alive)
}

// alive reports whether there is such a session that has not ended.
func (s *State) alive(session string) bool {
	x := s.Session(session)
	return x != nil && !x.Ended()
}

// saysBy is [State.SessionStatus] where it is known who is alive.
func (t *Task) saysBy(alive func(session string) bool) (says events.TaskSessionStatus, session string) {
	counts := t.newest(func(said Said) bool { return alive(said.SessionID) })
	if counts.SessionID == "" {
		counts = t.newest(func(Said) bool { return true })
	}
	return counts.Status, counts.SessionID
}

// listener tells what is said of many tasks, and looks up each session once.
type listener struct {
	*State
	known map[string]bool
}

func (s *State) listen() *listener { return &listener{s, map[string]bool{}} }

// says is [State.SessionStatus].
func (l *listener) says(t *Task) (says events.TaskSessionStatus, session string) {
	looked := 0
	says, session = t.saysBy(func(session string) bool {
		looked++
		alive, known := l.known[session]
		if !known {
			alive = l.alive(session)
			l.known[session] = alive
		}
		return alive
	})
	l.lookedThrough(looked)
	return says, session
}

// DependentCount counts the tasks that depend on one, deleted ones too.
func (s *State) DependentCount(task string) int { return len(s.dependents.get(task)) }

// ActiveSession gives the newest of a task's sessions that is at work, or "".
func (s *State) ActiveSession(t *Task) string {
	for _, id := range slices.Backward(t.SessionIDs) {
		if owner := s.Session(id); owner != nil && owner.Active() {
			return id
		}
	}
	return ""
}

func (s *State) changeTask(id string, edit func(*Task)) {
	before := s.tasks.get(id)
	after := *before
	edit(&after)
	s.changes = append(s.changes, Change{KindTask, id, before, &after})
	s.tasks.put(id, &after)
	gone := before.Deleted != after.Deleted
	if gone || before.Status != after.Status || before.TaskFields != after.TaskFields {
		s.unsettled.moved = append(s.unsettled.moved, id)
	}
	// Only these moves satisfy a dependency, or no longer do.
	completed := (before.Status == events.TaskCompleted) != (after.Status == events.TaskCompleted)
	switch {
	case completed || gone:
		s.unsettled.met = append(s.unsettled.met, id)
	case len(s.trusting) > 0 && !before.saysTheSame(&after) && s.awaited.get(id).known[1]:
		s.unsettled.spoken = append(s.unsettled.spoken, id)
	}
}

// saidDone reports whether the word that counts on a task is that it is done.
func (s *State) saidDone(t *Task) bool {
	says, _ := s.SessionStatus(t)
	return says == events.SaysCompleted
}

// moveTo moves the status; the first move to in_progress and to completed is remembered for good.
func (t *Task) moveTo(f fact, status events.TaskStatus) {
	t.Status, t.UpdatedAt, t.StatusSequence, t.StatusAt = status, f.at, f.sequence, f.at
	t.state(nil, t.Result())
	if status == events.TaskInProgress && t.StartedAt == 0 {
		t.StartedAt = f.at
	}
	if status == events.TaskCompleted && t.CompletedAt == 0 {
		t.CompletedAt = f.at
	}
}

func (s *State) addSession(t *Task, id string) {
	s.work(uint64(len(t.SessionIDs)))
	if !slices.Contains(t.SessionIDs, id) {
		t.SessionIDs = append(slices.Clip(t.SessionIDs), id)
	}
}

// say puts a session's word on a task last, in place of its former one. A completion's words are the task's result.
func (s *State) say(f fact, task, session string, status events.TaskSessionStatus, words string) {
	s.changeTask(task, func(t *Task) {
		s.lookedThrough(t.Speakers())
		s.work(uint64(t.addSaid(Said{session, status, f.at, f.sequence})))
		t.UpdatedAt = f.at
		if status == events.SaysCompleted && words != "" {
			t.state(t.StatusReason(), f.statement())
		}
	})
	s.speaksOf(session, s.tasks.get(task))
}

// lookedThrough counts the work of looking through a list, whose entries lie side by side.
func (s *State) lookedThrough(n int) { s.work(uint64(n / 16)) }

// speaksOf remembers that a session's word is on a task.
func (s *State) speaksOf(session string, t *Task) {
	if of := s.spokeOf.get(session); !of.has(t.CreatedSequence) {
		s.spokeOf.put(session, of.with(t.CreatedSequence, t.ID))
		s.work(lineCost)
	}
}

// unsay takes back what a session said of a task.
func (s *State) unsay(f fact, task, session string) {
	s.changeTask(task, func(t *Task) {
		s.lookedThrough(t.Speakers())
		s.work(uint64(t.dropSaid(session)))
		t.UpdatedAt = f.at
	})
	if of, at := s.spokeOf.get(session), s.tasks.get(task).CreatedSequence; of.has(at) {
		s.spokeOf.put(session, of.without(at))
		s.work(lineCost)
	}
}

func (s *State) taskCreated(f fact, d *events.TaskCreated) error {
	if s.tasks.get(d.TaskID) != nil {
		return exists("task", d.TaskID)
	}
	if s.Project(f.Project) == nil {
		return missing("project", f.Project)
	}
	if d.ParentID != "" && s.Task(d.ParentID) == nil {
		return missing("task", d.ParentID)
	}
	t := &Task{Status: events.TaskTodo, UpdatedAt: f.at, TaskFields: &TaskFields{
		ID: d.TaskID, ProjectID: f.Project, ParentID: d.ParentID, Title: d.Title, Description: d.Description,
		AcceptanceCriteria: d.AcceptanceCriteria, Priority: d.Priority, Dependencies: d.Dependencies,
		InitialPrompt: d.InitialPrompt, SkillIDs: d.SkillIDs, Model: d.Model, Metadata: d.Metadata, Blobs: d.Blobs,
		CreatedAt: f.at, CreatedBy: f.Source, CreatedSequence: f.sequence,
	}}
	s.changes = append(s.changes, Change{KindTask, t.ID, (*Task)(nil), t})
	s.tasks.put(t.ID, t)
	s.taskIDs.put(t.ProjectID, append(s.taskIDs.get(t.ProjectID), t.ID))
	if t.ParentID != "" {
		s.children.put(t.ParentID, append(s.children.get(t.ParentID), t.ID))
	}
	s.dependOn(t.ID, t.Dependencies)
	s.unsettled.met = append(s.unsettled.met, t.ID) // a task that was not there kept nobody waiting
	s.changeProject(f.Project, func(p *Project) { p.Tasks++ })
	s.note(f, Entry{Type: "task_created", TaskID: t.ID, SessionID: f.author(), Message: t.Title})
	return nil
}

func (s *State) taskUpdated(f fact, d *events.TaskUpdated) error {
	before := s.Task(d.TaskID)
	if before == nil {
		return missing("task", d.TaskID)
	}
	s.changeTask(d.TaskID, func(t *Task) {
		fields := *t.TaskFields
		t.TaskFields = &fields
		set(&t.Title, d.Title)
		set(&t.Description, d.Description)
		set(&t.AcceptanceCriteria, d.AcceptanceCriteria)
		set(&t.Priority, d.Priority)
		set(&t.Dependencies, d.Dependencies)
		set(&t.SkillIDs, d.SkillIDs)
		set(&t.AgentIDs, d.AgentIDs)
		set(&t.Model, d.Model)
		if d.Metadata != nil {
			t.Metadata = d.Metadata
		}
		t.Blobs = mergeBlobs(t.Blobs, d.Blobs, "description", d.Description != nil)
		t.UpdatedAt = f.at
		if d.Status != nil {
			t.moveTo(f, d.Status.To)
		}
	})
	if d.Dependencies != nil {
		s.dependNoMore(d.TaskID, before.Dependencies, *d.Dependencies)
		s.dependOn(d.TaskID, without(*d.Dependencies, before.Dependencies))
	}
	if fields := updatedFields(d); fields != "" {
		s.note(f, Entry{Type: "task_updated", TaskID: d.TaskID, What: fields})
	}
	if d.Status != nil {
		s.noteStatus(f, d.TaskID, d.Status.To, "")
	}
	return nil
}

func (s *State) taskStatusChanged(f fact, d *events.TaskStatusChanged) error {
	t := s.Task(d.TaskID)
	if t == nil {
		return missing("task", d.TaskID)
	}
	s.changeTask(d.TaskID, func(t *Task) {
		t.moveTo(f, d.To)
		if d.Reason != "" {
			t.state(f.statement(), t.Result())
		}
		if d.To == events.TaskInProgress {
			t.state(t.StatusReason(), nil)
			s.work(uint64(t.keepSays(func(said Said) bool { return said.Status != events.SaysCompleted })))
		}
	})
	s.noteStatus(f, d.TaskID, d.To, d.Reason)
	if session := s.ActiveSession(t); d.To == events.TaskInProgress && session != "" && session != f.author() {
		s.note(f, Entry{Type: "task_reopened", SessionID: session, TaskID: d.TaskID, Apart: true, Message: d.Reason})
	}
	return nil
}

// noteStatus shows a move of a task's status on the task, and on the session of the orchestrator that made it.
func (s *State) noteStatus(f fact, task string, to events.TaskStatus, reason string) {
	s.note(f, Entry{
		Type: "task_status_changed", TaskID: task, SessionID: f.author(),
		What: "Status changed to " + string(to), Message: reason,
	})
}

func (s *State) taskDeleted(f fact, d *events.TaskDeleted) error {
	if s.Task(d.TaskID) == nil {
		return missing("task", d.TaskID)
	}
	project := s.Task(d.TaskID).ProjectID
	gone := 0
	for _, id := range append([]string{d.TaskID}, d.Descendants...) {
		if s.Task(id) == nil {
			continue
		}
		s.changeTask(id, func(t *Task) { t.Deleted, t.UpdatedAt = true, f.at })
		s.dropItems(f, id)
		gone++
	}
	s.changeProject(project, func(p *Project) { p.Tasks -= gone })
	return nil
}

// updatedFields names what an update gave new values, for a timeline.
func updatedFields(d *events.TaskUpdated) string {
	var names []byte
	name := func(given bool, field string) {
		if given {
			if names != nil {
				names = append(names, ", "...)
			}
			names = append(names, field...)
		}
	}
	name(d.Title != nil, "title")
	name(d.Description != nil, "description")
	name(d.AcceptanceCriteria != nil, "acceptanceCriteria")
	name(d.Priority != nil, "priority")
	name(d.Dependencies != nil, "dependencies")
	name(d.SkillIDs != nil, "skillIds")
	name(d.AgentIDs != nil, "agentIds")
	name(d.Model != nil, "model")
	name(d.Metadata != nil, "metadata")
	return string(names)
}

package projections

import (
	"encoding/json"
	"slices"

	"maestro/events"
)

// Task is the state of a task. Times are milliseconds since 1970, 0 for never. Immutable. What changes with every
// report is separate from the fields that rarely change, which the versions of a task share.
type Task struct {
	*TaskFields
	// Status is the authoritative one: only a user or an orchestrator moves it.
	Status events.TaskStatus
	// StatusSequence is the event that last changed Status, StatusAt its time; 0 if none did.
	StatusSequence uint64
	StatusAt       int64
	// Stated is nil if there is no statement.
	Stated *TaskOutcome `json:",omitempty"`
	// Says holds the last statements of its sessions, oldest first; of many only the newest, and Stated the others.
	// AllSays returns them together.
	Says []StatusReport
	// SessionIDs are the sessions that have or had it.
	SessionIDs  []string
	UpdatedAt   int64
	StartedAt   int64
	CompletedAt int64
	Deleted     bool
	// Reopened says that the task is in progress because a command opened it again.
	Reopened bool `json:",omitempty"`
}

// TaskFields are the fields that a task's creation and its updates set. Immutable.
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
	// PlanID is its id in a plan, unique among the project's tasks that are not deleted; "" if it has none.
	PlanID string   `json:",omitempty"`
	Labels []string `json:",omitempty"`
	// Order is the task's place among its siblings, "" for its original place.
	Order string `json:",omitempty"`
	// An absent value stays absent in the encoding: null would be decoded as a value.
	Metadata  json.RawMessage `json:",omitempty"`
	Blobs     events.Blobs
	CreatedAt int64
	CreatedBy string
	// CreatedSequence is the event that created it.
	CreatedSequence uint64
}

// TaskOutcome holds lasting statements on a task. Immutable.
type TaskOutcome struct {
	// Reason is why its status was last changed, nil if not given.
	Reason *Statement `json:",omitempty"`
	// Result is the statement of the last completion, nil if there is none; reopening clears it.
	Result *Statement `json:",omitempty"`
	// Earlier are statements of its sessions that are older than those in Says, nil unless there are many.
	Earlier *EarlierReports `json:",omitempty"`
}

// StatusReason returns why the task's status was last changed, nil if not given.
func (t *Task) StatusReason() *Statement {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Reason
}

// Result returns the statement of the task's last completion, or nil.
func (t *Task) Result() *Statement {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Result
}

// state sets statements on the task.
func (t *Task) state(reason, result *Statement) {
	t.stated(TaskOutcome{reason, result, t.earlier()})
}

func (t *Task) stated(s TaskOutcome) {
	if t.Stated = nil; s != (TaskOutcome{}) {
		t.Stated = &s
	}
}

// Task returns the task, or nil when there is none or it was deleted.
func (s *State) Task(id string) *Task {
	if t := s.tasks.get(id); t != nil && !t.Deleted {
		return t
	}
	return nil
}

// TaskProject returns the project of a task, including a deleted one, and "" if it never existed.
func (s *State) TaskProject(id string) string {
	if t := s.tasks.get(id); t != nil {
		return t.ProjectID
	}
	return ""
}

// TaskEver returns a task, including a deleted one, or nil.
func (s *State) TaskEver(id string) *Task { return s.tasks.get(id) }

// ActiveSession returns the newest of a task's sessions that works, or "".
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
	s.countUnfinished(before, &after)
	if before.Over() != after.Over() || before.touched() != after.touched() {
		s.attendTask(id)
	}
	if before.gone() != after.gone() {
		s.attendDependents(id)
	}
	gone := before.Deleted != after.Deleted
	if gone || before.Status != after.Status || before.TaskFields != after.TaskFields {
		s.unsettled.moved = append(s.unsettled.moved, id)
	}
	// Only these changes satisfy a dependency, or no longer do.
	completed := (before.Status == events.TaskCompleted) != (after.Status == events.TaskCompleted)
	switch {
	case completed || gone:
		s.unsettled.met = append(s.unsettled.met, id)
	case len(s.trusting) > 0 && !before.saysTheSame(&after) && s.awaited.get(id).known[1]:
		s.unsettled.spoken = append(s.unsettled.spoken, id)
	}
}

// moveTo changes the status; the first change to in_progress and to completed is recorded permanently.
func (t *Task) moveTo(f fact, status events.TaskStatus) {
	t.Status, t.UpdatedAt, t.StatusSequence, t.StatusAt = status, f.at, f.sequence, f.at
	t.Reopened = false
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
		ID:                 d.TaskID,
		ProjectID:          f.Project,
		ParentID:           d.ParentID,
		Title:              d.Title,
		Description:        d.Description,
		AcceptanceCriteria: d.AcceptanceCriteria,
		Priority:           d.Priority,
		Dependencies:       d.Dependencies,
		InitialPrompt:      d.InitialPrompt,
		SkillIDs:           d.SkillIDs,
		Model:              d.Model,
		PlanID:             d.PlanID,
		Labels:             d.Labels,
		Metadata:           d.Metadata,
		Blobs:              d.Blobs,
		CreatedAt:          f.at,
		CreatedBy:          f.Source,
		CreatedSequence:    f.sequence,
	}}
	s.changes = append(s.changes, Change{KindTask, t.ID, (*Task)(nil), t})
	s.tasks.put(t.ID, t)
	s.taskIDs.put(t.ProjectID, append(s.taskIDs.get(t.ProjectID), t.ID))
	s.planned(t)
	if t.ParentID != "" {
		s.children.put(t.ParentID, append(s.children.get(t.ParentID), t.ID))
	}
	s.countUnfinished(nil, t)
	s.dependOn(t.ID, t.Dependencies)
	s.unsettled.met = append(s.unsettled.met, t.ID) // nothing waited for a task that did not exist
	s.changeProject(f.Project, func(p *Project) { p.Tasks++ })
	s.note(f, 0)
	return nil
}

func (s *State) taskUpdated(f fact, d *events.TaskUpdated) error {
	before := s.Task(d.TaskID)
	if before == nil {
		return missing("task", d.TaskID)
	}
	if err := s.mayStandBelow(d.TaskID, d.ParentID); err != nil {
		return err
	}
	if err := s.validOrder(before, d.Order); err != nil {
		return err
	}
	if err := s.notified(d.Notice); err != nil {
		return err
	}
	s.respace(before, d.Order)
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
		set(&t.ParentID, d.ParentID)
		set(&t.InitialPrompt, d.InitialPrompt)
		set(&t.PlanID, d.PlanID)
		if d.Order != nil {
			t.Order = d.Order.Key
		}
		set(&t.Labels, d.Labels)
		if d.Metadata != nil {
			t.Metadata = d.Metadata
		}
		t.Blobs = mergeBlobs(t.Blobs, d.Blobs, "description", d.Description != nil)
		t.Blobs = mergeBlobs(t.Blobs, d.Blobs, "initialPrompt", d.InitialPrompt != nil)
		t.UpdatedAt = f.at
		if d.Status != nil {
			t.moveTo(f, d.Status.To)
		}
	})
	if d.Dependencies != nil {
		s.dependNoMore(d.TaskID, before.Dependencies, *d.Dependencies)
		s.dependOn(d.TaskID, without(*d.Dependencies, before.Dependencies))
	}
	after := s.Task(d.TaskID)
	s.movedBelow(after, before.ParentID)
	s.reordered(before, after, d.Order != nil && d.Order.Respaced)
	s.plannedAnew(after, before.PlanID)
	entries := 0
	if len(d.Fields()) > 0 {
		s.note(f, 0)
		entries = 1
	}
	if d.Status != nil {
		s.note(f, entries)
		s.notify(f, d.TaskID, d.Status.From, d.Status.To, "", d.Notice)
	}
	return nil
}

func (s *State) taskStatusChanged(f fact, d *events.TaskStatusChanged) error {
	t := s.Task(d.TaskID)
	if t == nil {
		return missing("task", d.TaskID)
	}
	if err := s.notified(d.Notice); err != nil {
		return err
	}
	s.changeTask(d.TaskID, func(t *Task) {
		t.moveTo(f, d.To)
		if d.Reason != "" {
			t.state(f.statement(d.Reason, ""), t.Result())
		}
		if d.To == events.TaskInProgress {
			t.Reopened = true
			t.state(t.StatusReason(), nil)
			s.lookedThrough(2 * t.Speakers())
			s.work(uint64(t.keepSays(s.withoutDone(t))))
		}
	})
	s.note(f, 0)
	s.notify(f, d.TaskID, d.From, d.To, d.Reason, d.Notice)
	if session := s.ActiveSession(t); d.To == events.TaskInProgress && session != "" && session != f.author() {
		e := f.entry(1)
		e.SessionID = session
		s.add(e, false)
	}
	return nil
}

func (s *State) taskDeleted(f fact, d *events.TaskDeleted) error {
	if s.Task(d.TaskID) == nil {
		return missing("task", d.TaskID)
	}
	if err := s.notified(d.Notice); err != nil {
		return err
	}
	s.notifyOfDeletion(f, d)
	project := s.Task(d.TaskID).ProjectID
	gone := 0
	for _, id := range append([]string{d.TaskID}, d.Descendants...) {
		if s.Task(id) == nil {
			continue
		}
		s.changeTask(id, func(t *Task) { t.Deleted, t.UpdatedAt = true, f.at })
		s.unplanned(s.tasks.get(id))
		s.dropItems(f, id)
		gone++
	}
	s.changeProject(project, func(p *Project) { p.Tasks -= gone })
	return nil
}

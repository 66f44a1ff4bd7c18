package projections

import (
	"encoding/json"
	"reflect"

	"maestro/events"
)

// TaskView shows a task with both statuses.
type TaskView struct {
	ID            string            `json:"id"`
	ProjectID     string            `json:"projectId"`
	ParentID      *string           `json:"parentId"`
	Title         string            `json:"title"`
	Description   string            `json:"description"`
	Status        events.TaskStatus `json:"status"`
	Priority      string            `json:"priority"`
	CreatedAt     events.Millis     `json:"createdAt"`
	UpdatedAt     events.Millis     `json:"updatedAt"`
	StartedAt     *events.Millis    `json:"startedAt"`
	CompletedAt   *events.Millis    `json:"completedAt"`
	InitialPrompt string            `json:"initialPrompt"`
	SessionIDs    []string          `json:"sessionIds"`
	SkillIDs      []string          `json:"skillIds"`
	AgentIDs      []string          `json:"agentIds"`
	Dependencies  []string          `json:"dependencies"`
	// SessionStatus is the reported status, absent if there is none; SaidBy is the session that reported it.
	SessionStatus events.TaskSessionStatus `json:"sessionStatus,omitempty"`
	SaidBy        string                   `json:"saidBy,omitempty"`
	// Result is the statement of the last completion.
	Result *StatementView `json:"result,omitempty"`
	// StatusReason says why its status was last changed.
	StatusReason *StatementView `json:"statusReason,omitempty"`
	// SessionReason says why SaidBy reports that it is blocked or has failed, or what it asks.
	SessionReason *StatementView `json:"sessionReason,omitempty"`
	// Says are the statements of its sessions, oldest first; in a list the newest [ListedSays], and SaysMore counts the
	// others.
	Says               []StatusReport `json:"says,omitempty"`
	SaysMore           int            `json:"saysMore,omitempty"`
	Model              string         `json:"model,omitempty"`
	AcceptanceCriteria []string       `json:"acceptanceCriteria"`
	UnmetDependencies  []string       `json:"unmetDependencies,omitempty"`
	// GoneDependencies are the dependencies that were deleted or are cancelled.
	GoneDependencies []GoneDependency `json:"goneDependencies,omitempty"`
	ActiveSessionID  string           `json:"activeSessionId,omitempty"`
	CreatedBy        string           `json:"createdBy"`
	// Queues are the queues that it is in, by name.
	Queues []TaskInQueue `json:"queues,omitempty"`
	// PlanID is its id in the plan that it comes from.
	PlanID   string          `json:"planId,omitempty"`
	Labels   []string        `json:"labels,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Blobs are the digests of its long texts, by field: the field has only the beginning. Redacted are those of them
	// that were removed for good.
	Blobs    events.Blobs             `json:"blobs,omitempty"`
	Redacted map[string]RedactionView `json:"redacted,omitempty"`
	// Progress sums up what lies below it, absent if nothing does.
	Progress *Progress `json:"progress,omitempty"`
	// Names are the names of the sessions and the titles of the tasks that the view mentions, by id. The service sets
	// them, for a single task.
	Names map[string]string `json:"names,omitempty"`
}

// ListedText bounds the part of a statement that a list of tasks shows, in bytes.
const ListedText = events.PreviewText

// ListedSays bounds the statements of a task in a list.
const ListedSays = 20

// StatementView shows a statement.
type StatementView struct {
	Text string `json:"text"`
	// Cut says that Text is only the beginning of the event's text, as in a list.
	Cut bool `json:"cut,omitempty"`
	// Blob is the digest of the whole text, if Text is only its beginning.
	Blob string `json:"blob,omitempty"`
	// Redacted says that the whole text was removed for good.
	Redacted *RedactionView `json:"redacted,omitempty"`
	By       string         `json:"by"`
	At       events.Millis  `json:"at"`
	Sequence uint64         `json:"sequence"`
}

// Unconfirmed reports whether an agent reports a task as done, and nobody has decided otherwise: a blocked task waits
// for its user.
func Unconfirmed(says events.TaskSessionStatus, status events.TaskStatus) bool {
	return says == events.SaysCompleted && (status == events.TaskTodo || status == events.TaskInProgress)
}

// TaskInQueue shows a task's place in a queue.
type TaskInQueue struct {
	Queue     string                 `json:"queue"`
	Status    events.QueueItemStatus `json:"status"`
	SessionID string                 `json:"sessionId,omitempty"`
}

// TaskView shows a task of the state.
func (s *State) TaskView(t *Task) TaskView {
	v := s.TaskViewAlone(t)
	v.Progress = s.Progress(t)
	return v
}

// TaskViewAlone shows a task without what lies below it.
func (s *State) TaskViewAlone(t *Task) TaskView {
	v := s.taskView(t)
	v.Says = t.AllSays()
	s.work(uint64(len(v.Says)))
	return v
}

// ListedTask shows a task for a list: without what lies below it, and with the beginning of long texts.
func (s *State) ListedTask(t *Task) TaskView {
	v := s.taskView(t)
	v.Says, v.SaysMore = t.newestSays(ListedSays)
	s.work(uint64(len(v.Says)))
	for _, said := range []*StatementView{v.Result, v.StatusReason, v.SessionReason} {
		if said != nil {
			said.Text, said.Cut = events.Preview(said.Text, ListedText)
		}
	}
	return v
}

// The sizes of the parts of a view, in bytes.
var (
	viewSize      = sizeOf[TaskView]()
	saidSize      = sizeOf[StatusReport]()
	placeSize     = sizeOf[TaskInQueue]()
	nameSize      = sizeOf[string]()
	goneSize      = sizeOf[GoneDependency]()
	statementSize = sizeOf[StatementView]()
	progressSize  = sizeOf[Progress]()
)

func sizeOf[T any]() int64 {
	return int64(reflect.TypeFor[T]().Size()) //nolint:gosec // some hundred bytes
}

// Size returns how much memory the view takes in addition to what it shares with the state, in bytes.
func (v *TaskView) Size() int64 {
	size := viewSize + int64(cap(v.Says))*saidSize + int64(cap(v.Queues))*placeSize +
		int64(cap(v.UnmetDependencies))*nameSize + int64(cap(v.GoneDependencies))*goneSize
	for _, said := range []*StatementView{v.Result, v.StatusReason, v.SessionReason} {
		if said != nil {
			size += statementSize
		}
	}
	if v.Progress != nil {
		size += progressSize
	}
	return size
}

// ListedSize returns the approximate [TaskView.Size] of a task in a list.
func (s *State) ListedSize(t *Task) int64 {
	return viewSize + statementSize + progressSize + int64(min(t.Speakers(), ListedSays))*saidSize +
		int64(len(s.itemsOf.get(t.ID)))*placeSize
}

func (s *State) taskView(t *Task) TaskView {
	says, by := s.SessionStatus(t)
	return TaskView{
		ID:                 t.ID,
		ProjectID:          t.ProjectID,
		ParentID:           orNull(t.ParentID),
		Title:              t.Title,
		Description:        t.Description,
		Status:             t.Status,
		Priority:           t.Priority,
		CreatedAt:          events.Millis(t.CreatedAt),
		UpdatedAt:          events.Millis(t.UpdatedAt),
		StartedAt:          orNull(events.Millis(t.StartedAt)),
		CompletedAt:        orNull(events.Millis(t.CompletedAt)),
		InitialPrompt:      t.InitialPrompt,
		SessionIDs:         list(t.SessionIDs),
		SkillIDs:           list(t.SkillIDs),
		AgentIDs:           list(t.AgentIDs),
		Dependencies:       list(t.Dependencies),
		SessionStatus:      says,
		SaidBy:             by,
		Model:              t.Model,
		AcceptanceCriteria: list(t.AcceptanceCriteria),
		UnmetDependencies:  s.UnmetDependencies(t),
		GoneDependencies:   s.GoneDependencies(t),
		ActiveSessionID:    s.ActiveSession(t),
		CreatedBy:          t.CreatedBy,
		Queues:             s.inQueues(t.ID),
		PlanID:             t.PlanID,
		Labels:             t.Labels,
		Metadata:           t.Metadata,
		Blobs:              t.Blobs,
		Redacted:           s.RedactionViews(t.Blobs),
		Result:             s.ShownResult(t),
		StatusReason:       s.statementView(t.StatusReason()),
		SessionReason:      s.sessionReason(t, says, by),
	}
}

// ShownResult returns the statement of a task's last completion, or nil.
func (s *State) ShownResult(t *Task) *StatementView { return s.statementView(t.Result()) }

func (s *State) statementView(said *Statement) *StatementView {
	if said == nil {
		return nil
	}
	return &StatementView{
		Text:     said.Text,
		Blob:     said.Blob,
		Redacted: s.RedactionView(said.Blob),
		By:       said.By,
		At:       events.Millis(said.At),
		Sequence: said.Sequence,
	}
}

// sessionReason returns why a session reports that a task cannot continue, nil if it gave no reason.
func (s *State) sessionReason(t *Task, says events.TaskSessionStatus, session string) *StatementView {
	switch says {
	case events.SaysBlocked, events.SaysFailed, events.SaysNeedsInput:
	default:
		return nil
	}
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(session)
	if said.Words == nil || said.Words.Text == "" {
		return nil
	}
	return &StatementView{
		Text:     said.Words.Text,
		Blob:     said.Words.Blob,
		Redacted: s.RedactionView(said.Words.Blob),
		By:       said.Words.By,
		At:       said.At,
		Sequence: said.Sequence,
	}
}

func (s *State) inQueues(task string) []TaskInQueue {
	keys := s.itemsOf.get(task)
	if len(keys) == 0 {
		return nil
	}
	places := make([]TaskInQueue, 0, len(keys))
	for _, key := range keys {
		if item := s.items.get(key); !item.Removed {
			places = append(places, TaskInQueue{item.Queue, item.Status, item.SessionID})
		}
	}
	return places
}

func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func list(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}

package projections

import (
	"encoding/json"
	"reflect"
	"slices"

	"maestro/events"
)

// The views are what HTTP, the CLI and the page show. They keep the shapes that existing clients know
// (docs/http-api-compat.md), with more members; times are milliseconds since 1970.

// ProjectView shows a project.
type ProjectView struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	WorkingDir  string       `json:"workingDir"`
	Description string       `json:"description"`
	CreatedAt   int64        `json:"createdAt"`
	UpdatedAt   int64        `json:"updatedAt"`
	CreatedBy   string       `json:"createdBy"`
	Tasks       int          `json:"tasks"`
	Sessions    int          `json:"sessions"`
	Blobs       events.Blobs `json:"blobs,omitempty"`
}

// View shows the project.
func (p *Project) View() ProjectView {
	return ProjectView{
		ID:          p.ID,
		Name:        p.Name,
		WorkingDir:  p.WorkingDir,
		Description: p.Description,
		CreatedAt:   p.CreatedAt,
		UpdatedAt:   p.UpdatedAt,
		CreatedBy:   p.CreatedBy,
		Tasks:       p.Tasks,
		Sessions:    p.Sessions,
		Blobs:       p.Blobs,
	}
}

// TaskView shows a task with both statuses.
type TaskView struct {
	ID            string            `json:"id"`
	ProjectID     string            `json:"projectId"`
	ParentID      *string           `json:"parentId"`
	Title         string            `json:"title"`
	Description   string            `json:"description"`
	Status        events.TaskStatus `json:"status"`
	Priority      string            `json:"priority"`
	CreatedAt     int64             `json:"createdAt"`
	UpdatedAt     int64             `json:"updatedAt"`
	StartedAt     *int64            `json:"startedAt"`
	CompletedAt   *int64            `json:"completedAt"`
	InitialPrompt string            `json:"initialPrompt"`
	SessionIDs    []string          `json:"sessionIds"`
	SkillIDs      []string          `json:"skillIds"`
	AgentIDs      []string          `json:"agentIds"`
	Dependencies  []string          `json:"dependencies"`
	// SessionStatus is what is said of it, absent until something is; SaidBy says by which session.
	SessionStatus events.TaskSessionStatus `json:"sessionStatus,omitempty"`
	SaidBy        string                   `json:"saidBy,omitempty"`
	// Result is what was said when it was last said to be completed.
	Result *StatementView `json:"result,omitempty"`
	// StatusReason says why its status was last moved.
	StatusReason *StatementView `json:"statusReason,omitempty"`
	// SessionReason says why SaidBy says that it is blocked or has failed, or what it asks.
	SessionReason *StatementView `json:"sessionReason,omitempty"`
	// Says are the words of its sessions, oldest first; in a list the newest [ListedSays], SaysMore counts the others.
	Says               []Said   `json:"says,omitempty"`
	SaysMore           int      `json:"saysMore,omitempty"`
	Model              string   `json:"model,omitempty"`
	AcceptanceCriteria []string `json:"acceptanceCriteria"`
	UnmetDependencies  []string `json:"unmetDependencies,omitempty"`
	ActiveSessionID    string   `json:"activeSessionId,omitempty"`
	CreatedBy          string   `json:"createdBy"`
	// Queues are the queues that it stands in, by name.
	Queues []TaskInQueue `json:"queues,omitempty"`
	// PlanID is its id in the plan that it comes from.
	PlanID   string          `json:"planId,omitempty"`
	Labels   []string        `json:"labels,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Blobs    events.Blobs    `json:"blobs,omitempty"`
	// Progress sums up what lies below it, absent when nothing does.
	Progress *Progress `json:"progress,omitempty"`
}

// ListedText is how much of a statement a list of tasks shows, in bytes.
const ListedText = events.PreviewText

// ListedSays is how many words of its sessions a task in a list shows.
const ListedSays = 20

// StatementView shows words that somebody said.
type StatementView struct {
	Text string `json:"text"`
	// Cut says that Text is only the beginning of what the event holds, as in a list.
	Cut bool `json:"cut,omitempty"`
	// Blob is the digest of the whole text, if Text is only its beginning.
	Blob     string `json:"blob,omitempty"`
	By       string `json:"by"`
	At       int64  `json:"at"`
	Sequence uint64 `json:"sequence"`
}

// Unconfirmed reports whether an agent says of a task that it is done, and nobody has confirmed it.
func Unconfirmed(says events.TaskSessionStatus, status events.TaskStatus) bool {
	return says == events.SaysCompleted && status != events.TaskCompleted && status != events.TaskCancelled
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

// ListedTask shows a task for a list: without what lies below it, and with the beginning of what is long.
func (s *State) ListedTask(t *Task) TaskView {
	v := s.taskView(t)
	v.Says, v.SaysMore = t.newestSays(ListedSays)
	s.work(uint64(len(v.Says)))
	for _, said := range []*StatementView{v.Result, v.StatusReason, v.SessionReason} {
		if said != nil {
			said.Text, said.Cut = beginning(said.Text, ListedText)
		}
	}
	return v
}

// What the parts of a view take, in bytes.
var (
	viewSize      = sizeOf[TaskView]()
	saidSize      = sizeOf[Said]()
	placeSize     = sizeOf[TaskInQueue]()
	nameSize      = sizeOf[string]()
	statementSize = sizeOf[StatementView]()
	progressSize  = sizeOf[Progress]()
)

func sizeOf[T any]() int64 {
	return int64(reflect.TypeFor[T]().Size()) //nolint:gosec // some hundred bytes
}

// Size gives how much memory the view takes beside what it shares with the state, in bytes.
func (v *TaskView) Size() int64 {
	size := viewSize + int64(cap(v.Says))*saidSize + int64(cap(v.Queues))*placeSize +
		int64(cap(v.UnmetDependencies))*nameSize
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

// ListedSize gives about how much [TaskView.Size] of a task in a list is.
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
		CreatedAt:          t.CreatedAt,
		UpdatedAt:          t.UpdatedAt,
		StartedAt:          orNull(t.StartedAt),
		CompletedAt:        orNull(t.CompletedAt),
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
		ActiveSessionID:    s.ActiveSession(t),
		CreatedBy:          t.CreatedBy,
		Queues:             s.inQueues(t.ID),
		PlanID:             t.PlanID,
		Labels:             t.Labels,
		Metadata:           t.Metadata,
		Blobs:              t.Blobs,
		Result:             s.Result(t),
		StatusReason:       s.statementOn(t, t.StatusReason()),
		SessionReason:      s.sessionReason(t, says, by),
	}
}

// Result gives what was said when a task was last said to be completed, or nil.
func (s *State) Result(t *Task) *StatementView { return s.statementOn(t, t.Result()) }

// statementOn reads words on the timeline of a task.
func (s *State) statementOn(t *Task, said *Statement) *StatementView {
	if said == nil {
		return nil
	}
	e := s.TaskTimeline(t.ID).at(said.Sequence)
	return &StatementView{
		Text:     e.Message,
		Blob:     e.Blob,
		By:       said.By,
		At:       said.At,
		Sequence: said.Sequence,
	}
}

// sessionReason gives why a session says of a task that it cannot go on, nil if it gave no reason.
func (s *State) sessionReason(t *Task, says events.TaskSessionStatus, session string) *StatementView {
	switch says {
	case events.SaysBlocked, events.SaysFailed, events.SaysNeedsInput:
	default:
		return nil
	}
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(session)
	e := s.TaskTimeline(t.ID).at(said.Sequence)
	if e.Message == "" {
		return nil
	}
	return &StatementView{
		Text:     e.Message,
		Blob:     e.Blob,
		By:       e.Source,
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

// EntryView shows an entry of a timeline.
type EntryView struct {
	ID         string          `json:"id"`
	Sequence   uint64          `json:"sequence"`
	Type       string          `json:"type"`
	Timestamp  int64           `json:"timestamp"`
	OccurredAt int64           `json:"occurredAt,omitempty"`
	Message    string          `json:"message,omitempty"`
	TaskID     string          `json:"taskId,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	Source     string          `json:"source"`
	Blob       string          `json:"blob,omitempty"`
	Late       bool            `json:"late,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// View shows the entry. What a client gave with words is its metadata, without words its data.
func (e *Entry) View() EntryView {
	v := EntryView{
		ID:         e.ID(),
		Sequence:   e.Sequence,
		Type:       e.Type,
		Timestamp:  e.At,
		OccurredAt: e.OccurredAt,
		Message:    e.Text(),
		TaskID:     e.TaskID,
		SessionID:  e.SessionID,
		Source:     e.Source,
		Blob:       e.Blob,
		Late:       e.Late,
	}
	if e.Bare {
		v.Data = e.Data
	} else {
		v.Metadata = e.Data
	}
	return v
}

// Views shows the newest entries of a timeline, at most limit of them if that is above 0, oldest first.
func (t Timeline) Views(limit int, keep func(*Entry) bool) []EntryView {
	views := []EntryView{}
	for _, e := range slices.Backward(t) {
		if keep != nil && !keep(e) {
			continue
		}
		if limit > 0 && len(views) == limit {
			break
		}
		views = append(views, e.View())
	}
	slices.Reverse(views)
	return views
}

// SessionView shows a session. Timeline and Events are nil unless asked for.
type SessionView struct {
	ID           string               `json:"id"`
	ProjectID    string               `json:"projectId"`
	TaskIDs      []string             `json:"taskIds"`
	Unlinked     []Unlinked           `json:"unlinked,omitempty"`
	Name         string               `json:"name"`
	Role         events.Role          `json:"role"`
	Env          map[string]string    `json:"env"`
	Strategy     events.Strategy      `json:"strategy"`
	Status       events.SessionStatus `json:"status"`
	StartedAt    int64                `json:"startedAt"`
	LastActivity int64                `json:"lastActivity"`
	// LastHeard is when it last called, which heartbeats and reads do too. The state does not know; who does sets it.
	LastHeard   int64  `json:"lastHeard,omitempty"`
	CompletedAt *int64 `json:"completedAt"`
	EndedAt     *int64 `json:"endedAt,omitempty"`
	EndReason   string `json:"endReason,omitempty"`
	// LostAt is when it was marked lost, absent while it is heard.
	LostAt *int64 `json:"lostAt,omitempty"`
	// Deadline is when it is ended as failed.
	Deadline *int64 `json:"deadline,omitempty"`
	// Queue is what it pulls from, Item the task of it that it has in hand.
	Queue          string              `json:"queue,omitempty"`
	Item           string              `json:"item,omitempty"`
	SpawnedBy      string              `json:"spawnedBy,omitempty"`
	CreatedBy      string              `json:"createdBy"`
	Permissions    *events.Permissions `json:"permissions,omitempty"`
	Model          string              `json:"model,omitempty"`
	Agent          string              `json:"agent,omitempty"`
	AgentID        string              `json:"agentId,omitempty"`
	Skills         []string            `json:"skills,omitempty"`
	ManifestDigest string              `json:"manifestDigest,omitempty"`
	Metadata       json.RawMessage     `json:"metadata,omitempty"`
}

// View shows the session without its timeline.
func (x *Session) View() SessionView {
	env := x.Env
	if env == nil {
		env = map[string]string{}
	}
	item := ""
	if x.Hand != nil && x.Hand.Held {
		item = x.Hand.TaskID
	}
	return SessionView{
		LostAt:         orNull(x.LostAt),
		Deadline:       orNull(x.Deadline),
		Queue:          x.Queue,
		Item:           item,
		Unlinked:       x.Unlinked,
		ID:             x.ID,
		ProjectID:      x.ProjectID,
		TaskIDs:        list(x.TaskIDs),
		Name:           x.Name,
		Role:           x.Role,
		Env:            env,
		Strategy:       x.Strategy,
		Status:         x.Status,
		StartedAt:      x.StartedAt,
		LastActivity:   x.LastActivity,
		CompletedAt:    orNull(x.CompletedAt),
		EndedAt:        orNull(x.EndedAt),
		EndReason:      x.EndReason,
		SpawnedBy:      x.SpawnedBy,
		CreatedBy:      x.CreatedBy,
		Permissions:    x.Permissions,
		Model:          x.Model,
		Agent:          x.Agent,
		AgentID:        x.AgentID,
		Skills:         x.Skills,
		ManifestDigest: x.ManifestDigest,
		Metadata:       x.Metadata,
	}
}

// StatusListed is how long each list of a project's status is at most.
const StatusListed = 100

// TaskSaid shows what an agent says of a task beside where it stands.
type TaskSaid struct {
	TaskID        string                   `json:"taskId"`
	Title         string                   `json:"title"`
	Status        events.TaskStatus        `json:"status"`
	SessionStatus events.TaskSessionStatus `json:"sessionStatus"`
	SaidBy        string                   `json:"saidBy"`
}

// ProjectStatus counts a project's tasks and sessions by where they stand.
type ProjectStatus struct {
	Project ProjectView                      `json:"project"`
	Tasks   map[events.TaskStatus]int        `json:"tasks"`
	Says    map[events.TaskSessionStatus]int `json:"says"`
	// Unconfirmed are the tasks that an agent says are done and nobody has confirmed, the first [StatusListed] of them;
	// UnconfirmedMore counts the others. So it is with the other lists.
	Unconfirmed     []string `json:"unconfirmed"`
	UnconfirmedMore int      `json:"unconfirmedMore,omitempty"`
	// ToConfirm shows the tasks of Unconfirmed, and Said the others of which an agent says something, open ones first.
	ToConfirm []TaskSaid                   `json:"toConfirm"`
	Said      []TaskSaid                   `json:"said"`
	SaidMore  int                          `json:"saidMore,omitempty"`
	Sessions  map[events.SessionStatus]int `json:"sessions"`
	// Lost are the sessions that nothing is heard of.
	Lost       []string    `json:"lost"`
	LostMore   int         `json:"lostMore,omitempty"`
	Queues     []QueueView `json:"queues"`
	QueuesMore int         `json:"queuesMore,omitempty"`
	// Inbox counts what needs a person.
	Inbox int `json:"inbox"`
}

// ProjectStatus shows how a project stands.
func (s *State) ProjectStatus(p *Project) ProjectStatus {
	words := s.listen()
	status := ProjectStatus{
		Project:     p.View(),
		Tasks:       map[events.TaskStatus]int{},
		Says:        map[events.TaskSessionStatus]int{},
		Unconfirmed: []string{},
		Sessions:    map[events.SessionStatus]int{},
		Lost:        []string{},
		Queues:      []QueueView{},
		Inbox:       words.inboxCount(p.ID),
		ToConfirm:   []TaskSaid{},
		Said:        []TaskSaid{},
	}
	var decided []TaskSaid // open ones come first
	for t := range s.Tasks(p.ID) {
		status.Tasks[t.Status]++
		says, session := words.says(t)
		if says == "" {
			continue
		}
		status.Says[says]++
		said := TaskSaid{t.ID, t.Title, t.Status, says, session}
		switch open := t.Status != events.TaskCompleted && t.Status != events.TaskCancelled; {
		case Unconfirmed(says, t.Status) && len(status.Unconfirmed) < StatusListed:
			status.Unconfirmed, status.ToConfirm = append(status.Unconfirmed, t.ID), append(status.ToConfirm, said)
		case Unconfirmed(says, t.Status):
			status.UnconfirmedMore++
		case open && len(status.Said) < StatusListed:
			status.Said = append(status.Said, said)
		case !open && len(decided) < StatusListed:
			decided = append(decided, said)
		default:
			status.SaidMore++
		}
	}
	room := min(StatusListed-len(status.Said), len(decided))
	status.Said = append(status.Said, decided[:room]...)
	status.SaidMore += len(decided) - room
	for x := range s.Sessions(p.ID) {
		status.Sessions[x.Status]++
		switch {
		case !x.Lost() || x.Ended():
		case len(status.Lost) < StatusListed:
			status.Lost = append(status.Lost, x.ID)
		default:
			status.LostMore++
		}
	}
	for q := range s.Queues(p.ID) {
		if len(status.Queues) < StatusListed {
			status.Queues = append(status.Queues, s.QueueView(q))
		} else {
			status.QueuesMore++
		}
	}
	return status
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

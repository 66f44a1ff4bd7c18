package projections

import "maestro/events"

// The views are what HTTP, the CLI and the page show. They have the shapes that existing clients know
// (docs/http-api-compat.md), with more members; times are milliseconds since 1970.

// ProjectView shows a project.
type ProjectView struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	WorkingDir  string        `json:"workingDir"`
	Description string        `json:"description"`
	CreatedAt   events.Millis `json:"createdAt"`
	UpdatedAt   events.Millis `json:"updatedAt"`
	CreatedBy   string        `json:"createdBy"`
	Tasks       int           `json:"tasks"`
	Sessions    int           `json:"sessions"`
	// Blobs are the digests of its long texts, by field: the field has only the beginning. Redacted are those of them
	// that were removed for good.
	Blobs    events.Blobs             `json:"blobs,omitempty"`
	Redacted map[string]RedactionView `json:"redacted,omitempty"`
}

// ProjectView shows a project of the state.
func (s *State) ProjectView(p *Project) ProjectView {
	view := p.View()
	view.Redacted = s.RedactionViews(p.Blobs)
	return view
}

// View shows the project, without what was redacted of it.
func (p *Project) View() ProjectView {
	return ProjectView{
		ID:          p.ID,
		Name:        p.Name,
		WorkingDir:  p.WorkingDir,
		Description: p.Description,
		CreatedAt:   events.Millis(p.CreatedAt),
		UpdatedAt:   events.Millis(p.UpdatedAt),
		CreatedBy:   p.CreatedBy,
		Tasks:       p.Tasks,
		Sessions:    p.Sessions,
		Blobs:       p.Blobs,
	}
}

// StatusListed bounds each list of a project's status.
const StatusListed = 100

// TaskReport shows an agent's report on a task beside its status.
type TaskReport struct {
	TaskID        string                   `json:"taskId"`
	Title         string                   `json:"title"`
	Status        events.TaskStatus        `json:"status"`
	SessionStatus events.TaskSessionStatus `json:"sessionStatus"`
	SaidBy        string                   `json:"saidBy"`
	SaidByName    string                   `json:"saidByName,omitempty"`
	// SaidByIs is what became of that session, absent while it is at work.
	SaidByIs string `json:"saidByIs,omitempty"`
}

// SessionReport shows a session's report that it cannot continue, without naming a task.
type SessionReport struct {
	SessionID string                   `json:"sessionId"`
	Name      string                   `json:"name"`
	Says      events.TaskSessionStatus `json:"says"`
	// Message is the beginning of the report, Cut says that there is more.
	Message string        `json:"message"`
	Cut     bool          `json:"cut,omitempty"`
	At      events.Millis `json:"at"`
}

// ExpiredSpawner shows a session that continues although the token that spawned it has expired.
type ExpiredSpawner struct {
	SessionID string        `json:"sessionId"`
	Name      string        `json:"name"`
	Token     string        `json:"token"`
	ExpiredAt events.Millis `json:"expiredAt"`
}

// sessionSaid shows a session's report on itself.
func sessionSaid(x *Session, word *Entry) SessionReport {
	said := SessionReport{
		SessionID: x.ID,
		Name:      x.Name,
		Says:      events.SaysBlocked,
		At:        events.Millis(word.At),
	}
	if word.Type == reportType(events.ReportError) {
		said.Says = events.SaysFailed
	}
	said.Message, said.Cut = events.Preview(word.Text(), InboxText)
	return said
}

// ProjectStatus counts a project's tasks and sessions by status.
type ProjectStatus struct {
	Project ProjectView                      `json:"project"`
	Tasks   map[events.TaskStatus]int        `json:"tasks"`
	Says    map[events.TaskSessionStatus]int `json:"says"`
	// Unconfirmed are the tasks that an agent reports as done and nobody has confirmed, the first [StatusListed] of
	// them; UnconfirmedMore counts the others. The same applies to the other lists.
	Unconfirmed     []string `json:"unconfirmed"`
	UnconfirmedMore int      `json:"unconfirmedMore,omitempty"`
	// ToConfirm shows the tasks of Unconfirmed, and Said the others with a report, open ones first.
	ToConfirm []TaskReport                 `json:"toConfirm"`
	Said      []TaskReport                 `json:"said"`
	SaidMore  int                          `json:"saidMore,omitempty"`
	Sessions  map[events.SessionStatus]int `json:"sessions"`
	// Lost are the silent sessions, LostNames their names, in the same order.
	Lost      []string `json:"lost"`
	LostNames []string `json:"lostNames,omitempty"`
	LostMore  int      `json:"lostMore,omitempty"`
	// SaidBySessions shows the reports of working sessions that they cannot continue.
	SaidBySessions     []SessionReport `json:"saidBySessions"`
	SaidBySessionsMore int             `json:"saidBySessionsMore,omitempty"`
	// SpawnedByExpired shows the sessions that continue although the token that spawned them has expired.
	SpawnedByExpired     []ExpiredSpawner `json:"spawnedByExpired,omitempty"`
	SpawnedByExpiredMore int              `json:"spawnedByExpiredMore,omitempty"`
	Queues               []QueueView      `json:"queues"`
	QueuesMore           int              `json:"queuesMore,omitempty"`
	// Inbox counts what needs a person.
	Inbox int `json:"inbox"`
	// InboxNext and ConfirmNext are the commands for what needs a person and for what waits to be confirmed, absent if
	// the reader may not run them.
	InboxNext   string `json:"inboxNext,omitempty"`
	ConfirmNext string `json:"confirmNext,omitempty"`
	// Unread names what was not counted, or only in part, because there is too much for one read: "tasks", "sessions",
	// "queues", "inbox".
	Unread []string `json:"unread,omitempty"`
}

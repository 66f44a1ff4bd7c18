package projections

import (
	"strconv"

	"maestro/events"
)

// QueueView shows a queue without its items.
type QueueView struct {
	ProjectID    string        `json:"projectId"`
	Name         string        `json:"name"`
	SessionID    string        `json:"sessionId,omitempty"`
	TrustReports bool          `json:"trustReports"`
	MaxAttempts  int           `json:"maxAttempts"`
	CreatedAt    events.Millis `json:"createdAt"`
	UpdatedAt    events.Millis `json:"updatedAt"`
	CreatedBy    string        `json:"createdBy"`
	Stats        QueueStats    `json:"stats"`
	// Ready counts the queued items that may be started, Waiting those that wait for something.
	Ready   int `json:"ready"`
	Waiting int `json:"waiting"`
	// Over counts those of the waiting items whose tasks were completed or cancelled meanwhile: nobody starts them.
	Over int `json:"over,omitempty"`
}

// ItemView shows an item of a queue. Older clients know some of its members.
type ItemView struct {
	TaskID      string                 `json:"taskId"`
	Title       string                 `json:"title"`
	Status      events.QueueItemStatus `json:"status"`
	AddedAt     events.Millis          `json:"addedAt"`
	StartedAt   events.Millis          `json:"startedAt,omitempty"`
	CompletedAt events.Millis          `json:"completedAt,omitempty"`
	FailReason  string                 `json:"failReason,omitempty"`
	// Requeued is why it was last queued again.
	Requeued string `json:"requeued,omitempty"`
	Queue    string `json:"queue"`
	// SessionID is its holder or last holder, SessionName that session's name.
	SessionID   string `json:"sessionId,omitempty"`
	SessionName string `json:"sessionName,omitempty"`
	Attempts    int    `json:"attempts"`
	// Returned says that a session had started it, and that it was given back.
	Returned bool `json:"returned,omitempty"`
	// Waits says what a queued item waits for.
	Waits string `json:"waits,omitempty"`
}

// Finished reports whether a queue had items, nobody holds one, and none is left to start: each has ended, or its task
// was completed, cancelled or deleted meanwhile.
func (s *State) Finished(q *Queue) bool {
	key := queueKey(q.ProjectID, q.Name)
	return q.Pushed > 0 && q.Stats.Processing == 0 && s.ready.get(key).len() == 0 &&
		s.waiting.get(key).len() == s.over.get(key).len()
}

// QueueView shows a queue.
func (s *State) QueueView(q *Queue) QueueView {
	key := queueKey(q.ProjectID, q.Name)
	return QueueView{
		ProjectID:    q.ProjectID,
		Name:         q.Name,
		SessionID:    q.SessionID,
		TrustReports: q.TrustReports,
		MaxAttempts:  q.MaxAttempts,
		CreatedAt:    events.Millis(q.CreatedAt),
		UpdatedAt:    events.Millis(q.UpdatedAt),
		CreatedBy:    q.CreatedBy,
		Stats:        q.Stats,
		Ready:        s.ready.get(key).len(),
		Waiting:      s.waiting.get(key).len(),
		Over:         s.over.get(key).len(),
	}
}

// ItemView shows an item of a queue.
func (s *State) ItemView(q *Queue, i *Item) ItemView {
	view := s.viewOfItem(i)
	if i.Status == events.ItemQueued {
		view.Waits = s.WaitsFor(q, i)
	}
	return view
}

// sessionName returns the name of a session that is shown with its id, "" if there is no such session.
func (s *State) sessionName(id string) string {
	if x := s.sessions.get(id); x != nil {
		return x.Name
	}
	return ""
}

func (s *State) taskTitle(id string) string {
	if t := s.Task(id); t != nil {
		return t.Title
	}
	return ""
}

// viewOfItem shows an item without what it waits for.
func (s *State) viewOfItem(i *Item) ItemView {
	view := ItemView{
		TaskID:      i.TaskID,
		Status:      i.Status,
		AddedAt:     events.Millis(i.AddedAt),
		StartedAt:   events.Millis(i.StartedAt),
		CompletedAt: events.Millis(i.CompletedAt),
		FailReason:  i.FailReason,
		Requeued:    i.Requeued,
		Queue:       i.Queue,
		SessionID:   i.SessionID,
		Attempts:    i.Attempts,
		Returned:    i.Status == events.ItemQueued && i.Returned(),
	}
	if t := s.tasks.get(i.TaskID); t != nil {
		view.Title = t.Title
	}
	view.SessionName = s.sessionName(i.SessionID)
	return view
}

// waitsWithin is WaitsFor for one of many items. It examines no more dependencies than left, and beyond that only
// returns their number.
func (s *State) waitsWithin(left *int, q *Queue, i *Item) string {
	if s.ready.get(queueKey(q.ProjectID, q.Name)).has(i.Place) {
		return ""
	}
	if t := s.Task(i.TaskID); t != nil {
		if len(t.Dependencies) > *left {
			return "waits for some of its " + strconv.Itoa(len(t.Dependencies)) + " dependencies"
		}
		*left -= len(t.Dependencies)
	}
	return s.WaitsFor(q, i)
}

// InputView shows a question.
type InputView struct {
	ID        string `json:"id"`
	ProjectID string `json:"projectId"`
	SessionID string `json:"sessionId"`
	// SessionName is the name of that session, TaskTitles the titles of those tasks, in the same order.
	SessionName string   `json:"sessionName,omitempty"`
	TaskIDs     []string `json:"taskIds"`
	TaskTitles  []string `json:"taskTitles,omitempty"`
	// Run is the run that cannot start without the answer; 0 for a question of the session itself.
	Run int `json:"run,omitempty"`
	// OnTask is the task at which the session worked when it asked, if TaskIDs names none and that is known.
	OnTask   string `json:"onTask,omitempty"`
	Question string `json:"question"`
	// Blob is the digest of the whole question, if Question is only its beginning; Redacted says that it was removed
	// for good.
	Blob     string         `json:"blob,omitempty"`
	Redacted *RedactionView `json:"redacted,omitempty"`
	Options  []string       `json:"options"`
	Status   InputStatus    `json:"status"`
	// NotNeeded says that an open question needs no answer any more: all tasks that it is about are over.
	NotNeeded   bool           `json:"notNeeded,omitempty"`
	Answer      string         `json:"answer,omitempty"`
	AnsweredBy  string         `json:"answeredBy,omitempty"`
	AskedAt     events.Millis  `json:"askedAt"`
	AnsweredAt  *events.Millis `json:"answeredAt"`
	DeliveredAt *events.Millis `json:"deliveredAt"`
	// Waited is how long it has waited, or waited until its answer or its session's end, in milliseconds.
	Waited int64 `json:"waited"`
}

// InputView shows a question at a time, in milliseconds since 1970.
func (s *State) InputView(x *Input, now int64) InputView {
	until := now
	if x.AnsweredAt != 0 {
		until = x.AnsweredAt
	} else if session := s.SessionEver(x.SessionID); session != nil && session.Ended() {
		until = session.EndedAt
	}
	titles := make([]string, len(x.TaskIDs))
	for i, id := range x.TaskIDs {
		titles[i] = s.taskTitle(id)
	}
	status := s.InputStatus(x)
	return InputView{
		ID:          x.ID,
		ProjectID:   x.ProjectID,
		SessionID:   x.SessionID,
		SessionName: s.sessionName(x.SessionID),
		TaskIDs:     list(x.TaskIDs),
		TaskTitles:  titles,
		Run:         x.Run,
		OnTask:      x.OnTask,
		Question:    x.Question,
		Blob:        x.Blob,
		Redacted:    s.RedactionView(x.Blob),
		Options:     list(x.Options),
		Status:      status,
		NotNeeded:   status == InputOpen && !s.NeedsAnswer(x),
		Answer:      x.Answer,
		AnsweredBy:  x.AnsweredBy,
		AskedAt:     events.Millis(x.AskedAt),
		AnsweredAt:  orNull(events.Millis(x.AnsweredAt)),
		DeliveredAt: orNull(events.Millis(x.DeliveredAt)),
		Waited:      max(0, until-x.AskedAt),
	}
}

// TokenView shows a named token, without its secret.
type TokenView struct {
	Name       string           `json:"name"`
	Kind       events.TokenKind `json:"kind"`
	ProjectIDs []string         `json:"projectIds"`
	Generation int              `json:"generation"`
	CreatedAt  events.Millis    `json:"createdAt"`
	CreatedBy  string           `json:"createdBy"`
	RevokedAt  *events.Millis   `json:"revokedAt"`
	ExpiresAt  *events.Millis   `json:"expiresAt"`
}

// View shows the token.
func (t *Token) View() TokenView {
	return TokenView{
		Name:       t.Name,
		Kind:       t.Kind,
		ProjectIDs: list(t.ProjectIDs),
		Generation: t.Generation,
		CreatedAt:  events.Millis(t.CreatedAt),
		CreatedBy:  t.CreatedBy,
		RevokedAt:  orNull(events.Millis(t.RevokedAt)),
		ExpiresAt:  orNull(events.Millis(t.ExpiresAt)),
	}
}

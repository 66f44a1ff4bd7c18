package wire

import (
	"maestro/events"
	"maestro/projections"
)

// QueueFilter selects queues.
type QueueFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
}

// QueueName names a queue, and selects its items.
type QueueName struct {
	Name      string `path:"name" doc:"the queue"`
	ProjectID string `query:"projectId" doc:"its project; a session's own if absent"`
	Status    string `query:"status" flag:"status queued|processing|completed|failed|skipped|quarantined" doc:"with this status"`
	Limit     string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
}

// QueueBody shows a queue with its items, at most [projections.ItemsListed] of them; ItemsMore counts the others, or on
// a page those after it.
type QueueBody struct {
	projections.QueueView
	Items     []projections.ItemView `json:"items"`
	ItemsMore int                    `json:"itemsMore,omitempty"`
}

// QueueTop is the next item, even while another is held.
type QueueTop struct {
	HasMore bool                  `json:"hasMore"`
	Item    *projections.ItemView `json:"item"`
	Message string                `json:"message,omitempty"`
	// Held is the item that the session holds.
	Held *projections.ItemView `json:"held,omitempty"`
	// Work is the task of the held item, or else of the next one.
	Work *Work `json:"work,omitempty"`
	// PassedOver counts the items before it that wait for something, Waiting all that do.
	PassedOver int `json:"passedOver"`
	Waiting    int `json:"waiting"`
	// Over counts those of the waiting items whose tasks were completed or cancelled meanwhile.
	Over  int    `json:"over,omitempty"`
	Queue string `json:"queue"`
	// Stats counts the queue's items by status.
	Stats projections.QueueStats `json:"stats"`
}

// Work is what a session needs to do an item: its task, and the results of the task's dependencies. Its size is
// bounded.
type Work struct {
	TaskID        string   `json:"taskId"`
	Title         string   `json:"title"`
	Description   string   `json:"description"`
	Criteria      []string `json:"acceptanceCriteria"`
	InitialPrompt string   `json:"initialPrompt,omitempty"`
	// Reopened is why the task was reopened, if it was.
	Reopened string `json:"reopened,omitempty"`
	// Blocked is why the task is blocked, if it is.
	Blocked string `json:"blocked,omitempty"`
	// Requeued is why the item was queued again, if somebody said it.
	Requeued string `json:"requeued,omitempty"`
	// Skipped is why the item was last skipped, if somebody said it.
	Skipped string `json:"skipped,omitempty"`
	// SaidDone is what another session said when it reported the task as completed, nil if none did.
	SaidDone *WorkDone `json:"saidDone,omitempty"`
	// Failed is why another session, or an earlier start, failed, nil unless that is what was said last.
	Failed *WorkFailed `json:"failed,omitempty"`
	// Earlier is what sessions that have the task no more said about it, and what they were told, oldest first. Only
	// who holds the item is shown it.
	Earlier []WorkWord `json:"earlier,omitempty"`
	// Results are those of the tasks that it depends on; ResultsMore counts the omitted ones.
	Results     []WorkResult `json:"dependencyResults"`
	ResultsMore int          `json:"dependencyResultsMore,omitempty"`
	// Cut names the truncated members. Redacted are those of them whose whole text was removed for good.
	Cut      []string             `json:"cut,omitempty"`
	Redacted map[string]Redaction `json:"redacted,omitempty"`
}

// WorkDone is the report of a session that a task is completed.
type WorkDone struct {
	SessionID string `json:"sessionId"`
	Result    string `json:"result,omitempty"`
	// Cut says that Result is truncated.
	Cut bool `json:"cut,omitempty"`
}

// WorkFailed is the report of a session that its work on a task failed.
type WorkFailed struct {
	SessionID string `json:"sessionId"`
	Reason    string `json:"reason,omitempty"`
	// Cut says that Reason is truncated.
	Cut bool `json:"cut,omitempty"`
}

// The kinds of what a session said about a task, or was told, besides the kinds of reports.
const (
	WordAnswer  = string(projections.SessionMessageAnswer)
	WordMessage = string(projections.SessionMessageMail)
	WordSkipped = string(projections.SessionMessageSkipped)
	// WordReopened is why the task was reopened before the last time. It names no session.
	WordReopened = string(projections.SessionMessageReopened)
)

// WorkWord is what a session said about a task, or what it was told: the answer to its question, or a message.
// [WordReopened] is for whoever works on the task.
type WorkWord struct {
	SessionID string `json:"sessionId"`
	// Kind is that of a report, "failed", [WordSkipped], [WordReopened], [WordAnswer] or [WordMessage].
	Kind string `json:"kind"`
	Text string `json:"text"`
	// TaskIDs are what it is about, From who told it, and InputID the question that it asks or answers, of a session's
	// own words.
	TaskIDs []string `json:"taskIds,omitempty"`
	From    string   `json:"from,omitempty"`
	InputID string   `json:"inputId,omitempty"`
	// Cut says that Text is truncated.
	Cut bool `json:"cut,omitempty"`
	// Late says that it came after the session's end.
	Late bool `json:"late,omitempty"`
	// Rejected says that it reported the task as completed, and that the task was reopened after that.
	Rejected bool `json:"rejected,omitempty"`
	// Unanswered says that it is a question, and that the session got no answer after it.
	Unanswered bool `json:"unanswered,omitempty"`
}

// IsTold reports whether somebody else said it to the session.
func (w WorkWord) IsTold() bool { return projections.SessionMessageKind(w.Kind).IsTold() }

// WorkResult is a task that another one depends on, with the statement of its last completion.
type WorkResult struct {
	TaskID string            `json:"taskId"`
	Title  string            `json:"title"`
	Status events.TaskStatus `json:"status"`
	Result string            `json:"result,omitempty"`
	// Cut says that Result is truncated.
	Cut bool `json:"cut,omitempty"`
}

// SessionQueueOf names the session that pulls from a queue, and selects its items.
type SessionQueueOf struct {
	ID     string `path:"id" doc:"the session"`
	Status string `query:"status" doc:"with this status"`
	Limit  string `query:"limit" doc:"only this many, the first ones"`
}

// SessionQueue shows the queue that a session pulls from. Older clients use the same route, and find more members in
// the answer.
type SessionQueue struct {
	Queue SessionItems `json:"queue"`
}

// SessionItems names the queue that a session pulls from and shows its items, at most [projections.ItemsListed] of
// them; ItemsMore counts the others.
type SessionItems struct {
	Name      string                 `json:"name"`
	Items     []projections.ItemView `json:"items"`
	ItemsMore int                    `json:"itemsMore,omitempty"`
}

// QueueOf names a queue.
type QueueOf struct {
	Name      string `path:"name" doc:"the queue"`
	ProjectID string `query:"projectId" doc:"its project; a session's own if absent"`
}

// Start is the answer of queue:start in addition to its event: the item that the session now holds.
type Start struct {
	// Item is nil if there was none to start.
	Item *projections.ItemView `json:"item"`
	// Work is the item's task and the results of its dependencies.
	Work *Work `json:"work,omitempty"`
	// Held says that the session held it before.
	Held bool `json:"held,omitempty"`
	// Waiting counts the queued items that wait for something.
	Waiting int    `json:"waiting"`
	Queue   string `json:"queue"`
	// Finished says that all items of the queue have ended.
	Finished bool `json:"finished,omitempty"`
}

package manifest

import "maestro/events"

// PredecessorKey is the member of a generated manifest's free context that holds its [Predecessor].
const PredecessorKey = "predecessor"

// Predecessor describes the last session that said something, or was told something, of those that worked on the
// primary task before this one.
type Predecessor struct {
	SessionID string               `json:"sessionId"`
	Name      string               `json:"name"`
	Status    events.SessionStatus `json:"status"`
	EndReason string               `json:"endReason,omitempty"`
	// Says is its last report on the task, Result its text when it reported the task as completed.
	Says   events.TaskSessionStatus `json:"says,omitempty"`
	Result string                   `json:"result,omitempty"`
	// Earlier are the newest reports and mail of the other sessions on the task, oldest first.
	Earlier []Word `json:"earlier,omitempty"`
	// Words are its newest reports and mail, oldest first.
	Words []Word `json:"words"`
	// Files are the newest files that it and the others said they changed, oldest first.
	Files []string `json:"files,omitempty"`
	// LeftOut names what there was no room for.
	LeftOut []string `json:"leftOut,omitempty"`
	// Cut names the truncated ones of endReason and result.
	Cut []string `json:"cut,omitempty"`
}

// Word is something that a session said, or was told by somebody else. Cut says that Text is only the beginning, Late
// that it was delivered after the session's end.
type Word struct {
	// SessionID is "" for the predecessor.
	SessionID string `json:"sessionId,omitempty"`
	Kind      string `json:"kind"`
	Told      bool   `json:"told,omitempty"`
	// From says who told it: a session's id, or user and the name of a token other than the admin's. InputID is the
	// question that it asks or answers.
	From    string   `json:"from,omitempty"`
	InputID string   `json:"inputId,omitempty"`
	TaskIDs []string `json:"taskIds,omitempty"`
	Text    string   `json:"text"`
	Cut     bool     `json:"cut,omitempty"`
	Late    bool     `json:"late,omitempty"`
}

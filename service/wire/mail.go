package wire

import "maestro/events"

// MailOf names a session's mail.
type MailOf struct {
	ID string `path:"id" doc:"the session"`
	// Wait is how long to wait for mail, as seconds or a duration.
	Wait string `query:"wait" doc:"how long to wait for mail, such as 25s; at most 25s"`
}

// MailKind is the kind of a piece of mail.
type MailKind string

// The kinds of mail.
const (
	MailAnswer    MailKind = "answer"
	MailMessage   MailKind = "message"
	MailReopened  MailKind = "reopened"
	MailUnblocked MailKind = "unblocked"
	MailBlocked   MailKind = "blocked"
	MailCancelled MailKind = "cancelled"
	MailCompleted MailKind = "completed"
	MailDeleted   MailKind = "deleted"
)

// Mail is a piece of a session's unread mail: the answer to one of its questions, a message, or the notice of what
// became of one of its tasks.
type Mail struct {
	ID   string   `json:"id" doc:"the question that is answered, or the message; what input:received names"`
	Kind MailKind `json:"kind" doc:"answer, message, or a task's change: reopened, unblocked, blocked, cancelled, completed or deleted"`
	From string   `json:"from" doc:"who wrote it, as a source of events"`
	// FromName is set if From is a session.
	FromName string `json:"fromName,omitempty" doc:"the name of the session that wrote it"`
	Text     string `json:"text" doc:"the answer, the message, or the reason, if one was given"`
	// Cut says that Text is longer. The question, or the task, has all of it.
	Cut bool `json:"cut,omitempty" doc:"true: the question, or the task that it is about, has the whole text"`
	// Question is set for an answer.
	Question string `json:"question,omitempty" doc:"of an answer: what the session asked"`
	// Run is set for the answer to a question of the session's supervisor, which the agent need not see.
	Run int `json:"run,omitempty" doc:"of an answer: the run that asked before it could start its agent"`
	// About is set for everything but an answer.
	About      string        `json:"about,omitempty" doc:"the task that it is about"`
	AboutTitle string        `json:"aboutTitle,omitempty" doc:"the title of that task"`
	At         events.Millis `json:"at" doc:"when it was written, in milliseconds since 1970"`
}

// Mailbox is a session's unread mail.
type Mailbox struct {
	Mail []Mail `json:"mail" doc:"oldest first"`
	More int    `json:"more,omitempty" doc:"how many wait beside those that are listed"`
}

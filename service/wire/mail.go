package wire

// MailKind tells answers from messages.
type MailKind string

// The kinds of mail.
const (
	MailAnswer  MailKind = "answer"
	MailMessage MailKind = "message"
)

// Mail is what a session was not shown yet: the answer to a question of its own, or a message.
type Mail struct {
	ID   string   `json:"id" doc:"the question that is answered, or the message"`
	Kind MailKind `json:"kind" doc:"answer or message"`
	From string   `json:"from" doc:"who wrote it, as a source of events"`
	Text string   `json:"text" doc:"the answer, or the message"`
	// Question is of an answer.
	Question string `json:"question,omitempty" doc:"of an answer: what the session asked"`
	// About is of a message.
	About string `json:"about,omitempty" doc:"of a message: the task that it is about"`
	At    int64  `json:"at" doc:"when it was written, in milliseconds since 1970"`
}

// Mailbox is what waits for a session.
type Mailbox struct {
	Mail []Mail `json:"mail" doc:"oldest first"`
	More int    `json:"more,omitempty" doc:"how many wait beside those that are listed"`
}

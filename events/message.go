package events

// SessionMessaged: a message was sent to a session. The session's next command shows it.
type SessionMessaged struct {
	SessionID string `json:"sessionId" doc:"the session that gets the message"`
	MessageID string `json:"messageId" doc:"the message; input.delivered names it once it was shown"`
	Text      string `json:"text" doc:"the message"`
	About     string `json:"about,omitempty" doc:"the task that it is about"`
	Forced    bool   `json:"forced,omitempty" doc:"the session had said that its work was done; the command forced it"`
}

var messageEvents = []Entry{
	entry[SessionMessaged]("Somebody wrote to a session."),
}

// EventType implements Data.
func (*SessionMessaged) EventType() string { return "maestro.session.messaged.v1" }

// Aggregate implements Data.
func (d *SessionMessaged) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionMessaged) Describe() Description {
	return describe("sent", "send",
		text(" a message"), named(" to session ", d.SessionID, " to it"), prefixed(": ", d.Text))
}

// MailFor implements Mail.
func (d *SessionMessaged) MailFor() string { return d.SessionID }

// WithoutText implements Mail.
func (d *SessionMessaged) WithoutText() Data {
	hidden := *d
	hidden.Text = ""
	return &hidden
}

func (*SessionMessaged) sealed() {}

func (*SessionMessaged) silent() {} // the receiver may be lost

// Mail is implemented by the payloads whose text is for one session: others see that it was written, but not the text.
type Mail interface {
	// MailFor returns the session.
	MailFor() string
	// WithoutText returns the payload as others see it.
	WithoutText() Data
}

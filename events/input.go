package events

// InputAnswered: a session's question was answered.
type InputAnswered struct {
	InputID   string   `json:"inputId" doc:"the question"`
	SessionID string   `json:"sessionId" doc:"the session that asked"`
	TaskIDs   []string `json:"taskIds,omitempty" doc:"the tasks that the question is about"`
	Answer    string   `json:"answer" doc:"the answer"`
	Other     bool     `json:"other,omitempty" doc:"the answer was taken although it is none of the options"`
}

// InputDelivered: mail was shown to its session: the answer to a question, or a message.
type InputDelivered struct {
	InputID   string `json:"inputId" doc:"the question whose answer was shown, or the message"`
	SessionID string `json:"sessionId" doc:"the session that it was for"`
}

var inputEvents = []Entry{
	entry[InputAnswered]("A question of a session has its answer."),
	entry[InputDelivered]("The answer to a question, or a message, was shown to its session."),
}

// EventType implements Data.
func (*InputAnswered) EventType() string { return "maestro.input.answered.v1" }

// EventType implements Data.
func (*InputDelivered) EventType() string { return "maestro.input.delivered.v1" }

// Aggregate implements Data.
func (d *InputAnswered) Aggregate() (kind, id string) { return AggregateInput, d.InputID }

// Aggregate implements Data.
func (d *InputDelivered) Aggregate() (kind, id string) { return AggregateInput, d.InputID }

// Describe implements Data.
func (d *InputAnswered) Describe() Description {
	return describe("answered", "answer",
		text(" "+d.InputID), named(" of ", d.SessionID, ""), prefixed(": ", d.Answer))
}

// Describe implements Data.
func (d *InputDelivered) Describe() Description {
	return describe("received", "receive", text(" mail "+d.InputID))
}

// MailFor implements Mail.
func (d *InputAnswered) MailFor() string { return d.SessionID }

// WithoutText implements Mail.
func (d *InputAnswered) WithoutText() Data {
	hidden := *d
	hidden.Answer = ""
	return &hidden
}

func (*InputAnswered) sealed()  {}
func (*InputDelivered) sealed() {}

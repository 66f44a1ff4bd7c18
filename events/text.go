package events

// TextRedacted: a long text was removed for good. The events that name it keep its digest, and the beginning of it.
type TextRedacted struct {
	Text   string `json:"text" doc:"the long text: sha256- and 64 hexadecimal digits"`
	Reason string `json:"reason" doc:"why"`
}

var textEvents = []Entry{
	entry[TextRedacted]("A long text is removed for good; its digest stays."),
}

// EventType implements Data.
func (*TextRedacted) EventType() string { return "maestro.text.redacted.v1" }

// Aggregate implements Data.
func (d *TextRedacted) Aggregate() (kind, id string) { return AggregateText, d.Text }

// Describe implements Data.
func (d *TextRedacted) Describe() Description {
	return describe("removed", "remove", text(" the long text "+d.Text+": "+d.Reason))
}

func (*TextRedacted) sealed() {}

package commands

import (
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// RedactText removes a long text for good: whoever executes it deletes the text from the store once its event is in the
// log. The events that name the text keep its digest and its beginning. docs/contract.md, "Redaction".
type RedactText struct {
	noTexts
	Text   string `json:"text" doc:"the digest of the long text: sha256- and 64 hexadecimal digits"`
	Reason string `json:"reason" doc:"why, for everyone who would read the text; one line"`
}

// ID implements Command.
func (*RedactText) ID() string { return "audit:redact" }

func (*RedactText) project(*projections.State, Actor) string { return "" }

// Decide implements Command.
func (x *RedactText) Decide(s *projections.State, _ Call) (events.Data, error) {
	if !events.IsDigest(x.Text) {
		return nil, invalid(
			"/text", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", safetext.Printable(x.Text),
		)
	}
	if strings.TrimSpace(x.Reason) == "" {
		return nil, invalid("/reason", "reason is required: it is shown in the place of the text")
	}
	if err := ValidLine("/reason", x.Reason, MaxName); err != nil {
		return nil, err
	}
	if s.Redaction(x.Text) != nil {
		return nil, nil
	}
	return &events.TextRedacted{Text: x.Text, Reason: x.Reason}, nil
}

func (x *RedactText) from(_ *events.Event, d *events.TextRedacted) bool {
	*x = RedactText{Text: d.Text, Reason: d.Reason}
	return true
}

// Redacted refuses an event that would store a text that was redacted; nil if it would not.
func Redacted(s *projections.State, data events.Data) error {
	if !s.HasRedactions() {
		return nil // true for nearly every log
	}
	for _, named := range events.Digests(data) {
		if r := s.Redaction(named.Digest); r != nil {
			return TextRedacted("/"+named.Field, r)
		}
	}
	return nil
}

// TextRedacted is the refusal for a text that was redacted.
func TextRedacted(pointer string, r *projections.Redaction) *Refusal {
	return &Refusal{
		Code:    CodeRule,
		Pointer: pointer,
		Message: "The text " + r.Text + " was redacted",
		Why: "event " + strconv.FormatUint(r.Sequence, 10) + " removed it for good: " +
			safetext.Printable(r.Reason),
		Next: "send it without what had to be removed",
	}
}

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
		r := s.Redaction(named.Digest)
		if r == nil {
			continue
		}
		refusal := TextRedacted("/"+named.Field, r)
		if spawned, ok := data.(*events.SessionSpawned); ok && named.Digest == spawned.ManifestDigest {
			refusal.Message = "The manifest of this session would be the text " + r.Text + ", which was redacted"
			refusal.Next = "change in the session's tasks or options what had to be removed; anything else that " +
				"differs makes another manifest too: " + SpawnOtherwise(spawned, "")
		}
		return refusal
	}
	return nil
}

// SpawnOtherwise is a command that spawns a session with an option that few have, so that its manifest differs from
// that of another one with the same tasks.
func SpawnOtherwise(d *events.SessionSpawned, project string) string {
	command := "`maestro session spawn"
	if d.Role == events.RoleOrchestrator {
		command += " --role orchestrator"
	}
	if strategy, err := ResolveStrategy(d.Role, ""); err == nil && d.Strategy != strategy {
		command += " --strategy " + string(d.Strategy)
	}
	if d.Queue != "" && d.Queue != d.SessionID { // not its own
		command += " --queue " + d.Queue
	}
	if len(d.TaskIDs) > 0 {
		command += " --task-ids " + strings.Join(d.TaskIDs, ",")
	} else if project != "" {
		command += " --project " + project
	}
	return command + " --timeout 720h`"
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

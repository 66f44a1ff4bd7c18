package offline

import (
	"maestro/events"
	"maestro/internal/cli"
	"maestro/service/wire"
)

// told is a line of a replay.
type told struct {
	Sequence uint64 `json:"sequence"`
	Time     string `json:"time"`
	Who      string `json:"who"`
	Source   string `json:"source"`
	Type     string `json:"type"`
	Project  string `json:"project,omitempty"`
	What     string `json:"what"`
	// SaidAt is when the command was said, if it waited in an outbox.
	SaidAt string `json:"saidAt,omitempty"`
	// Redacted are its long texts that were removed for good since.
	Redacted []wire.RedactedText `json:"redacted,omitempty"`

	at   events.Millis
	what events.Description
	// inSpiteOf is what a forced change was made in spite of, saidAt ends the line.
	inSpiteOf, saidAt string
	// texts are the long texts that it names.
	texts []events.Digest
}

// shown returns what happened, with names beside the ids.
func (t told) shown(names map[string]string) string {
	what := t.what
	if t.inSpiteOf != "" {
		what = what.InSpiteOf(cli.Mention(t.inSpiteOf, names))
	}
	return cli.Happened(what, names) + cli.WholeOfEvent(t.Sequence, t.texts, t.Redacted) + t.saidAt
}

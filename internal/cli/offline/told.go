package offline

import (
	"maestro/events"
	"maestro/internal/cli"
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

	what events.Description
	// inSpiteOf is what a forced change was made in spite of, saidAt ends the line.
	inSpiteOf, saidAt string
}

// shown returns what happened, with names beside the ids.
func (t told) shown(names map[string]string) string {
	what := t.what
	if t.inSpiteOf != "" {
		what = what.InSpiteOf(cli.Mention(t.inSpiteOf, names))
	}
	return cli.MentionIn(what, names) + t.saidAt
}

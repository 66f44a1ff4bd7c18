package engine

import (
	"strings"
	"testing"

	"maestro/events"
)

// Only a text that an event redacts may be missing: before the event it is named, and afterwards too.
func TestOnlyRedactedTextsMayBeMissing(t *testing.T) {
	digest := func(of string) string { return "sha256-" + strings.Repeat(of, 64) }
	manifest := func(of string) events.Data {
		return &events.SessionSpawned{SessionID: "s" + of, ManifestDigest: digest(of)}
	}
	var named textsNamed
	named.add(1, manifest("a"))
	named.add(2, manifest("b"))
	named.add(3, &events.TextRedacted{Text: digest("a"), Reason: "x"})
	named.add(4, manifest("a")) // which no server writes; the oracle reports it
	named.add(5, &events.TextRedacted{Text: digest("c"), Reason: "x"})
	named.add(6, manifest("d"))
	var left []string
	for _, text := range named.list {
		left = append(left, text.Digest)
	}
	if len(left) != 2 || left[0] != digest("b") || left[1] != digest("d") {
		t.Errorf("these texts must be there: %q", left)
	}
	lost, err := LostTexts(t.Context(), textStore{
		digest("a"): events.ErrNoBlob, digest("b"): events.ErrNoBlob, digest("d"): events.ErrNoBlob,
	}, named.list)
	if err != nil || len(lost) != 2 {
		t.Errorf("of these, %v are lost, %v", lost, err)
	}
}

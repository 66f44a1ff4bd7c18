package salvage

import (
	"fmt"
	"slices"
	"testing"

	"maestro/engine"
	"maestro/events"
)

// The verifier's own list of texts stays as it is when texts of events after a gap are added, and redacted ones left
// out.
func TestTextsOfVerifierStay(t *testing.T) {
	digest := func(n int) string { return events.DigestPrefix + events.BodyHash(fmt.Append(nil, n)).String() }
	s := &salvage{verifier: engine.NewVerifier(), report: &Report{}, redacted: map[string]bool{digest(0): true}}
	for n := range 5 { // an odd number, so that the list has room for more
		s.verifier.NoteTexts(uint64(n+1), &events.SessionReported{Blobs: events.Blobs{"message": digest(n)}})
	}
	s.named = []engine.NamedText{{Sequence: 9, Digest: digest(9)}}
	before := slices.Clone(s.verifier.Texts())
	if err := s.texts(nil); err != nil {
		t.Fatal(err)
	}
	if len(before) != 5 || !slices.Equal(s.verifier.Texts(), before) {
		t.Errorf("the texts of the verifier were %v, and are %v", before, s.verifier.Texts())
	}
	if len(s.report.LostTexts) != 5 {
		t.Errorf("lost are %v", s.report.LostTexts)
	}
}

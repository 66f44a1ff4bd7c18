package projections

import (
	"fmt"
	"slices"
	"testing"

	"maestro/events"
)

// Objects that name a blob are found by its digest, at a cost that does not depend on the number of objects, also after
// a restart.
func TestBlobRefs(t *testing.T) {
	long := events.Blobs{"message": "sha256-m"}
	s := stateOf(t, project(), task("t1"), spawn("w", "t1"),
		by(admin, &events.TaskUpdated{
			TaskID: "t1", Description: new("d"), Blobs: events.Blobs{"description": "sha256-d"},
		}),
		by(worker, &events.SessionNoted{
			SessionID: "w",
			Message:   "m",
			TaskID:    "t1",
			Blobs:     long,
		}),
		by(worker, &events.SessionNoted{SessionID: "w", Message: "m", Blobs: long}),
		by(worker, &events.SessionNoted{SessionID: "w", Message: "m", Blobs: long}), // reported again
		by(admin, &events.ProjectUpdated{
			ProjectID: "p", Description: new("d"), Blobs: events.Blobs{"description": "sha256-p"},
		}),
		by(admin, &events.SessionUpdated{SessionID: "w", ManifestDigest: new("sha256-w")}))
	for i := range 1000 {
		apply(t, s, task(fmt.Sprint("x", i)))
	}
	again, err := Decode([]byte(encode(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*State{"as it was folded": s, "as it was read": again} {
		for digest, want := range map[string][]BlobRef{
			"sha256-d": {{KindTask, "t1"}},
			"sha256-m": {{KindSessionTimeline, "w"}, {KindTaskTimeline, "t1"}},
			"sha256-w": {{KindSession, "w"}},
			"sha256-p": {{KindProject, "p"}},
			"sha256-0": nil,
		} {
			steps := s.CountReads()
			if got := s.BlobRefs(digest); !slices.Equal(got, want) || *steps > 1 {
				t.Errorf("%s: %s is named by %v, want %v; %d steps", name, digest, got, want, *steps)
			}
		}
	}
}

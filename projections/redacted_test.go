package projections

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"maestro/events"
)

// Every view that shows the beginning of a redacted text says so from the redaction on, which changes these views only.
func TestViewsOfRedactedTexts(t *testing.T) {
	const digest, other = "sha256-1", "sha256-2"
	const source = "/projects/p/sessions/w"
	named := func(digest string) events.Blobs { return events.Blobs{"description": digest} }
	asks := &events.SessionReported{
		SessionID: "w",
		TaskIDs:   []string{"t1"},
		Kind:      events.ReportNeedsInput,
		Message:   "b…",
		InputID:   "input_1",
		Blobs:     events.Blobs{"message": digest},
	}
	f := follow(t,
		by(admin, &events.ProjectCreated{ProjectID: "p", Name: "Alpha", Blobs: named(digest)}),
		by(admin, &events.TaskCreated{
			TaskID:      "t1",
			Title:       "A",
			Description: "b…",
			Blobs:       named(digest),
		}),
		by(admin, &events.TaskCreated{
			TaskID:      "t2",
			Title:       "B",
			Description: "b…",
			Blobs:       named(other),
		}),
		task("t3"),
		by(admin, &events.SessionSpawned{
			SessionID:      "w",
			Name:           "w",
			Role:           events.RoleWorker,
			Strategy:       events.StrategySimple,
			TaskIDs:        []string{"t1", "t3"},
			Started:        []string{"t1", "t3"},
			ManifestDigest: digest,
		}),
		spawn("w2", "t2"),
		by(source, asks),
		by(source, &events.SessionReported{
			SessionID: "w",
			TaskIDs:   []string{"t3"},
			Kind:      events.ReportComplete,
			Message:   "b…",
			Blobs:     events.Blobs{"message": digest},
		}),
	)
	shows := func() (kinds []ViewKey) {
		for key := range f.index.Keys(f.state) {
			text, err := json.Marshal(f.index.View(f.state, key))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.ToLower(string(text)), `redacted":{`) {
				kinds = append(kinds, key)
			}
		}
		return kinds
	}
	if early := shows(); early != nil {
		t.Errorf("before the redaction, %v show one", early)
	}
	f.goOn(by(admin, &events.TextRedacted{Text: digest, Reason: "It held a password"}))
	want := []ViewKey{
		{KindProject, "p"},
		{KindTask, "t1"},
		{KindTask, "t3"},
		{KindSession, "w"},
		{KindInput, "input_1"},
	}
	if got := shows(); !slices.Equal(got, want) {
		t.Errorf("it is shown by %v, want %v", got, want)
	}
	view := f.state.EntryView(&Entry{Blob: digest})
	if view.Redacted == nil || view.Redacted.Reason != "It held a password" || view.Redacted.By != admin {
		t.Errorf("the entry of a timeline shows %+v", view.Redacted)
	}
	if view := f.state.EntryView(&Entry{Blob: other}); view.Redacted != nil {
		t.Errorf("the entry of another text shows %+v", view.Redacted)
	}
}

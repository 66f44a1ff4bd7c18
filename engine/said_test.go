package engine

import (
	"encoding/json"
	"testing"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// A kept command of a session that has not ended is not from before the session, whatever the clock of its machine
// said: it counts, and states the time at which the session was created. It is not from after its decision either.
func TestKeptCommandIsWithinItsSession(t *testing.T) {
	w := newWorld(t)
	var created time.Time
	w.h.View(func(s *projections.State) { created = time.UnixMilli(s.Session(w.ids["w"]).StartedAt).UTC() })
	for i, c := range []struct{ said, want time.Time }{
		{time.Unix(0, 0).UTC(), created},
		{created.Add(-time.Millisecond), created},
		{created, created},
		{created.Add(time.Millisecond), created.Add(time.Millisecond)},
		{w.now().Add(24 * time.Hour), time.Time{}}, // the decision's
	} {
		for _, command := range []commands.Command{
			&commands.Report{Kind: events.ReportProgress, Message: "m"},
			&commands.Report{Kind: events.ReportNeedsInput, Message: "m"},
			&commands.TrackFile{File: "f"}, // its time is the file's
		} {
			r := Request{
				By:         w.actor("w"),
				Command:    command,
				Key:        command.ID() + string(rune('a'+i)),
				OccurredAt: c.said,
			}
			tried, err := w.h.Try(r)
			if err != nil {
				t.Fatal(err)
			}
			done, err := w.h.Do(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, answer := range []Answer{tried, done} {
				var event struct{ Time, OccurredAt time.Time }
				if err := json.Unmarshal(answer.Event, &event); err != nil {
					t.Fatal(err)
				}
				want := c.want
				if _, file := command.(*commands.TrackFile); file && c.said.Before(created) {
					want = c.said
				}
				if want.IsZero() {
					want = event.Time
				}
				if !event.OccurredAt.Equal(want) {
					t.Errorf("%s said at %s states %s, not %s", command.ID(), c.said, event.OccurredAt, want)
				}
			}
		}
	}
	if verdict := verify(t, w.log.messages); len(verdict.Faults) > 0 {
		t.Errorf("%+v", verdict.Faults)
	}
}

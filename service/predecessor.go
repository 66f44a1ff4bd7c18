package service

import (
	"iter"
	"slices"

	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/workers/manifest"
)

// The number of the predecessor's statements that a session is told, and the bytes of each. They are bounded because
// the prompt holds them. The predecessor's timeline has the rest.
const (
	predecessorWords = 20
	predecessorBytes = 4 << 10
	// predecessorsLooked bounds how many sessions are passed over that said nothing and were told nothing.
	predecessorsLooked = 10
)

// predecessor is the session that worked on a task before another one, and what it left in the state.
type predecessor struct {
	*projections.Session
	timeline projections.Timeline
	// newest reads entries of the timeline, newest first.
	newest func(projections.Timeline) iter.Seq[*projections.Entry]
	said   projections.StatusReport
	// result is nil unless it said, in words, that the task is completed.
	result *projections.StatementView
}

// predecessors returns the last sessions of a task that have ended, the newest first. It examines the sessions of the
// task, whose number the limit task-sessions bounds.
func (v View) predecessors(t *projections.Task) (before []*predecessor) {
	for _, id := range slices.Backward(t.SessionIDs) {
		x := v.SessionEver(id)
		if x == nil || v.Gone(id) == "" && x.Active() {
			continue
		}
		v.Worked(t.Speakers() / 16)
		if before = append(before, v.predecessor(t, x)); len(before) == predecessorsLooked {
			break
		}
	}
	return before
}

// predecessorOf returns the part of a manifest about the newest of the sessions before its own that left words, or else
// about the newest; nil if there are none. It may run without the state.
func predecessorOf(before []*predecessor) (told *manifest.Predecessor) {
	for _, x := range before {
		left := x.manifest()
		if len(left.Words) > 0 || left.Result != "" {
			return left
		}
		if told == nil {
			told = left
		}
	}
	return told
}

func (v View) predecessor(t *projections.Task, x *projections.Session) *predecessor {
	reader := v.entryReader()
	before := &predecessor{
		Session:  x,
		timeline: v.SessionTimeline(x.ID),
		newest: func(timeline projections.Timeline) iter.Seq[*projections.Entry] {
			return reader.backward(timeline, x.ID)
		},
		said: t.SaidBy(x.ID),
	}
	if result := t.ShownResult(); result != nil && result.By == x.Source() {
		before.result = result
	}
	return before
}

// manifest returns the part of the successor's manifest about the predecessor. It reads only the end of a long
// timeline, and may run without the state.
func (x *predecessor) manifest() *manifest.Predecessor {
	told := &manifest.Predecessor{
		SessionID: x.ID,
		Name:      x.Name,
		Status:    x.Status,
		Says:      x.said.Status,
		Words:     []manifest.Word{},
	}
	beginning := func(member, text string) string {
		if len(text) > predecessorBytes {
			told.Cut = append(told.Cut, member)
		}
		return safetext.Shorten(text, predecessorBytes)
	}
	told.EndReason = beginning("endReason", x.EndReason)
	if x.result != nil {
		told.Result = beginning("result", x.result.Text)
	}
	inTime := len(x.timeline) // what was delivered after the session's end does not displace what it said before
	for inTime > 0 && x.timeline[inTime-1].IsLate() {
		inTime--
	}
	timeline := x.timeline[max(0, inTime-newestLooked):]
	newest := func(late bool) iter.Seq[*projections.Entry] {
		return x.newest(timeline.Late(late))
	}
	for _, word := range x.SessionMessages(newest, predecessorWords) {
		told.Words = append(told.Words, manifest.Word{
			Kind:    string(word.Kind),
			Told:    word.Kind.IsTold(),
			TaskIDs: word.TaskIDs,
			Text:    safetext.Shorten(word.Text, predecessorBytes),
			Cut:     word.Blob != "" || len(word.Text) > predecessorBytes,
			Late:    word.Late,
		})
	}
	return told
}

package service

import (
	"iter"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// The number of the predecessor's statements that a session is told, and the bytes of each. They are bounded because
// the prompt holds them. The predecessor's timeline has the rest.
const (
	predecessorWords = 20
	predecessorBytes = 4 << 10
	// predecessorFiles is how many of its files a session is told.
	predecessorFiles = 50
	// passedReasons is how many sessions are named that left nothing but the reason for which they were ended.
	passedReasons = 5
)

// predecessors are the sessions that worked on a task before another one, newest first, and what all of them said and
// were told about it.
type predecessors struct {
	sessions []*predecessor
	earlier  *earlier
}

// predecessor is a session that worked on a task before another one, and what it left in the state.
type predecessor struct {
	*projections.Session
	// about is the task if the session goes on with something else: only what concerns the task is told.
	about    string
	timeline projections.Timeline
	// newest reads entries of the timeline, newest first.
	newest func(projections.Timeline) iter.Seq[*projections.Entry]
	said   projections.StatusReport
	// spawned says that it led others: then it did something, also if it said nothing.
	spawned bool
	// result is nil unless it said, in words, that the task is completed.
	result *projections.StatementView
}

// predecessors returns the newest sessions of a task that have ended, or have it no more; nil if there are none.
func (v View) predecessors(t *projections.Task) *predecessors {
	before := &predecessors{earlier: v.earlierOn(t, "")}
	v.Worked(t.Speakers() / namesPerStep)
	said := make(map[string]projections.StatusReport, t.Speakers())
	for _, report := range t.AllSays() {
		said[report.SessionID] = report
	}
	result, reader := v.ShownResult(t), v.entryReader()
	for _, id := range slices.Backward(t.SessionIDs) {
		x := v.SessionEver(id)
		v.Worked(1)
		ended := x != nil && (v.Gone(id) != "" || !x.Active())
		if x == nil || !ended && !v.leftTask(x, t) {
			continue
		}
		one := reader.predecessor(v, x)
		one.said = said[x.ID]
		if !ended {
			one.about = t.ID
		}
		if result != nil && result.By == x.Source() {
			one.result = result
		}
		if before.sessions = append(before.sessions, one); len(before.sessions) == earlierSessions {
			break
		}
	}
	if len(before.sessions) == 0 {
		return nil
	}
	return before
}

// predecessorIn returns what a session left that has ended, for one that continues its work on a queue; nil if it has
// not ended.
func (v View) predecessorIn(session string) *predecessors {
	x := v.SessionEver(session)
	if x == nil || v.Gone(session) == "" && x.Active() {
		return nil
	}
	return &predecessors{sessions: []*predecessor{v.entryReader().predecessor(v, x)}}
}

// predecessor returns what a session left on its timeline.
func (r entryReader) predecessor(v View, x *projections.Session) *predecessor {
	return &predecessor{
		Session:  x,
		spawned:  v.HasSpawned(x.ID),
		timeline: v.SessionTimeline(x.ID),
		newest: func(timeline projections.Timeline) iter.Seq[*projections.Entry] {
			return r.backward(timeline, x.ID)
		},
	}
}

// manifest returns the part of the successor's manifest about those before it: the newest that said something or was
// told something, and what the others said and were told about the task. It may run without the state.
func (x *predecessors) manifest() *manifest.Predecessor {
	var reasons []manifest.Word
	told := x.sessions[0].manifest()
	for i, before := range x.sessions {
		one := told
		if i > 0 {
			one = before.manifest()
		}
		if len(one.Words) > 0 || one.Says != "" || one.Result != "" || before.spawned {
			told = one
			break
		}
		if one.EndReason != "" && len(reasons) < passedReasons {
			word := manifest.Word{SessionID: one.SessionID, Kind: "ended", Told: true}
			word.Text, word.Cut = events.Beginning(before.EndReason, earlierBytes)
			reasons = append(reasons, word)
		}
	}
	if x.earlier != nil {
		delete(x.earlier.sessions, told.SessionID)
		delete(x.earlier.atWork, told.SessionID)
		x.earlier.newest = x.withUntold(x.earlier.newest, told.SessionID)
		for _, word := range x.earlier.words(&wire.Work{}) {
			told.Earlier = append(told.Earlier, manifest.Word{
				SessionID: word.SessionID,
				Kind:      word.Kind,
				Told:      projections.SessionMessageKind(word.Kind).IsTold(),
				Text:      safetext.Shorten(word.Text, earlierBytes),
				Cut:       word.Cut,
			})
		}
		if x.earlier.more {
			told.LeftOut = append(told.LeftOut, "older messages of the sessions before it")
		}
	}
	x.addFiles(told)
	for _, word := range slices.Backward(reasons) {
		if word.SessionID != told.SessionID {
			told.Earlier = append(told.Earlier, word)
		}
	}
	return told
}

// manifest returns the part of the successor's manifest about a predecessor. It reads only the end of a long
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
		entries := x.newest(timeline.Late(late))
		if x.about == "" {
			return entries
		}
		return func(yield func(*projections.Entry) bool) {
			for e := range entries {
				if e.TaskID == x.about && !yield(e) {
					return
				}
			}
		}
	}
	for _, word := range x.SessionMessages(newest, predecessorWords) {
		from := ""
		if word.Kind.IsTold() {
			from = teller(word.From)
		}
		told.Words = append(told.Words, manifest.Word{
			Kind:    string(word.Kind),
			Told:    word.Kind.IsTold(),
			From:    from,
			InputID: word.InputID,
			TaskIDs: word.TaskIDs,
			Text:    safetext.Shorten(word.Text, predecessorBytes),
			Cut:     word.Blob != "" || len(word.Text) > predecessorBytes,
			Late:    word.Late,
		})
	}
	told.Files = filesIn(newest(false))
	return told
}

// filesIn returns the newest files that entries name, oldest first.
func filesIn(newest iter.Seq[*projections.Entry]) (names []string) {
	known := map[string]bool{"": true}
	for e := range newest {
		name, _ := events.Beginning(projections.FileOf(e), predecessorBytes)
		if known[name] {
			continue
		}
		known[name] = true
		if names = append(names, name); len(names) == predecessorFiles {
			break
		}
	}
	slices.Reverse(names)
	return names
}

// teller returns a short name for the source of an event: a session's id, or user and the name of a token other than
// the admin's.
func teller(source string) string {
	if _, session, ok := projections.SessionOfSource(source); ok {
		return session
	}
	user, _ := projections.UserOfSource(source)
	if user == commands.AdminName {
		return "user"
	}
	return strings.TrimSpace("user " + user)
}

package service

import (
	"cmp"
	"iter"
	"slices"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// The bounds of what the holder of an item is told about the sessions before it: the number of messages, the bytes of
// each, and how many of the task's newest entries and sessions are searched for them.
const (
	earlierWords    = 10
	earlierBytes    = 2 << 10
	earlierLooked   = 100
	earlierSessions = 20
)

// earlier finds what sessions said about a task that have it no more, and what they were told about it.
type earlier struct {
	// sessions are those that have ended, or no longer hold the item.
	sessions map[string]*projections.Session
	// reopened is the event that reopened the task, 0 if none did; atWork are the sessions at work that had it before:
	// what they reported as its completion was rejected.
	reopened uint64
	atWork   map[string]*projections.Session
	// newest yields the entries of the task's timeline, newest first.
	newest iter.Seq[*projections.Entry]
	// more says, once the words were read, that there are older ones.
	more bool
}

// earlierOn returns nil if none of the newest sessions that worked on the task has left it, or had its work rejected.
func (v View) earlierOn(t *projections.Task, holder string) *earlier {
	sessions, atWork, reopened := map[string]*projections.Session{}, map[string]*projections.Session{}, uint64(0)
	if t.Reopened {
		reopened = t.StatusSequence
	}
	add := func(id string) {
		switch x := v.SessionEver(id); {
		case id == holder || x == nil:
		case v.Gone(id) != "" || !x.Active() || v.leftTask(x, t):
			sessions[id] = x
		case reopened > 0:
			atWork[id] = x
		}
	}
	v.Worked(t.Speakers() / namesPerStep)
	for _, id := range t.SessionIDs[max(0, len(t.SessionIDs)-earlierSessions):] {
		add(id)
	}
	says := t.AllSays()
	for _, said := range says[max(0, len(says)-earlierSessions):] {
		add(said.SessionID)
	}
	if len(sessions)+len(atWork) == 0 {
		return nil
	}
	timeline := v.TaskTimeline(t.ID)
	newest := v.entryReader().backward(timeline[max(0, len(timeline)-earlierLooked):], "")
	return &earlier{
		sessions: sessions,
		reopened: reopened,
		atWork:   atWork,
		newest:   newest,
	}
}

// leftTask reports whether a session at work had a task and has it no more: it does not hold its item, and the task is
// none of its own.
func (v View) leftTask(x *projections.Session, t *projections.Task) bool {
	if v.HasLeft(x, t) {
		return true
	}
	v.Worked((len(x.TaskIDs) + len(t.SessionIDs) + len(x.Unlinked)) / namesPerStep)
	item := v.Holds(x)
	if slices.Contains(x.TaskIDs, t.ID) || item != nil && item.TaskID == t.ID {
		return false
	}
	return slices.Contains(t.SessionIDs, x.ID) ||
		slices.ContainsFunc(x.Unlinked, func(u projections.Unlinked) bool { return u.TaskID == t.ID })
}

// words returns the newest messages, oldest first, and none if the log cannot be read: the item is started. What the
// work has in other members is not among them. It may run without the state.
func (x *earlier) words(work *wire.Work) (words []wire.WorkWord) {
	_ = RecoverPart(func() error {
		words = x.readWords(work)
		return nil
	})
	return words
}

// shownIn reports whether the work has a message in another member: why the task was reopened, and what a session said
// when it reported the task as completed or failed. When an item is returned, what its session said last counts no more
// and is in no other member.
func shownIn(work *wire.Work, kind projections.SessionMessageKind, session string) bool {
	switch kind { //nolint:exhaustive // the others are only here
	case projections.SessionMessageReopened:
		return true
	case projections.SessionMessageKind(events.ReportComplete):
		return work.SaidDone != nil && work.SaidDone.SessionID == session
	case projections.SessionMessageFailed, projections.SessionMessageKind(events.ReportError):
		return work.Failed != nil && work.Failed.SessionID == session
	}
	return false
}

func (x *earlier) readWords(work *wire.Work) (words []wire.WorkWord) {
	answered := map[string]bool{} // the sessions that got an answer after what is read now
	for e := range x.newest {
		if e.Reopens && e.Sequence != x.reopened { // the last reason is the work's own
			word := wire.WorkWord{Kind: wire.WordReopened}
			word.Text, word.Cut = events.Beginning(e.Message, earlierBytes)
			word.Cut = word.Cut || e.Blob != ""
			if x.more = len(words) == earlierWords; x.more {
				break
			}
			words = append(words, word)
			continue
		}
		session := cmp.Or(x.sessions[e.SessionID], x.atWork[e.SessionID])
		if session == nil {
			continue
		}
		kind := session.WordKind(e)
		if kind == projections.SessionMessageSkipped && e.Message == work.Skipped {
			continue
		}
		rejected := kind == projections.SessionMessageKind(events.ReportComplete) && e.Sequence < x.reopened
		if kind == "" || shownIn(work, kind, e.SessionID) || x.atWork[e.SessionID] != nil && !rejected {
			continue
		}
		if x.more = len(words) == earlierWords; x.more {
			break
		}
		word := wire.WorkWord{SessionID: e.SessionID, Kind: string(kind), Rejected: rejected}
		switch kind { //nolint:exhaustive // the others ask and answer nothing
		case projections.SessionMessageAnswer:
			answered[e.SessionID] = true
		case projections.SessionMessageKind(events.ReportNeedsInput):
			word.Unanswered = !answered[e.SessionID]
		}
		word.Text, word.Cut = events.Beginning(e.Message, earlierBytes)
		word.Cut = word.Cut || e.Blob != ""
		words = append(words, word)
	}
	slices.Reverse(words)
	return words
}

package service

import (
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

// earlier finds what ended sessions said about a task, and what they were told about it.
type earlier struct {
	sessions map[string]*projections.Session
	// newest yields the entries of the task's timeline, newest first.
	newest iter.Seq[*projections.Entry]
}

// earlierOn returns nil if none of the newest sessions that worked on the task has ended.
func (v View) earlierOn(t *projections.Task, holder string) *earlier {
	sessions := map[string]*projections.Session{}
	add := func(id string) {
		x := v.SessionEver(id)
		if id != holder && x != nil && (v.Gone(id) != "" || !x.Active()) {
			sessions[id] = x
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
	if len(sessions) == 0 {
		return nil
	}
	timeline := v.TaskTimeline(t.ID)
	return &earlier{sessions, v.entryReader().backward(timeline[max(0, len(timeline)-earlierLooked):], "")}
}

// words returns the newest messages, oldest first, and none if the log cannot be read: the item is started. What a
// report of completion or failure says is not among them: the work has it. It may run without the state.
func (x *earlier) words() (words []wire.WorkWord) {
	_ = RecoverPart(func() error {
		words = x.readWords()
		return nil
	})
	return words
}

// shownElsewhere are the kinds of messages that the work has in other members.
var shownElsewhere = map[projections.SessionMessageKind]bool{
	projections.SessionMessageFailed:                      true,
	projections.SessionMessageReopened:                    true,
	projections.SessionMessageKind(events.ReportComplete): true,
	projections.SessionMessageKind(events.ReportError):    true,
}

func (x *earlier) readWords() (words []wire.WorkWord) {
	for e := range x.newest {
		session := x.sessions[e.SessionID]
		if session == nil {
			continue
		}
		kind := session.WordKind(e)
		if kind == "" || shownElsewhere[kind] {
			continue
		}
		word := wire.WorkWord{SessionID: e.SessionID, Kind: string(kind)}
		word.Text, word.Cut = events.Beginning(e.Message, earlierBytes)
		word.Cut = word.Cut || e.Blob != ""
		if words = append(words, word); len(words) == earlierWords {
			break
		}
	}
	slices.Reverse(words)
	return words
}

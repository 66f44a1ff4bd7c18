package projections

import (
	"slices"

	"maestro/events"
)

// LastMessage is the newest message that a session got about a task, or about none. Messages of the sessions that it
// leads do not count: what they write answers nothing that it said.
type LastMessage struct {
	// About is the task, "" for none.
	About    string `json:",omitempty"`
	Sequence uint64
}

// MaxLastMessages bounds how many of these a session remembers.
const MaxLastMessages = 20

// remember records a message to a session.
func (s *State) remember(f fact, session, about string) {
	if _, author, ok := SessionOfSource(f.Source); ok && s.IsBelow(author, session) {
		return
	}
	s.changeSession(session, func(x *Session) {
		fields := x.ownFields()
		last := slices.DeleteFunc(slices.Clone(x.LastMessages), func(m LastMessage) bool { return m.About == about })
		last = append(last, LastMessage{about, f.sequence})
		fields.LastMessages = last[max(0, len(last)-MaxLastMessages):]
	})
}

// MessagedSince reports whether a session got a message about a task, "" for none, after a sequence, as far as it
// remembers.
func (x *Session) MessagedSince(about string, sequence uint64) bool {
	return slices.ContainsFunc(x.LastMessages, func(m LastMessage) bool {
		return m.About == about && m.Sequence > sequence
	})
}

// Stands returns what a session's statement on a task says now. That it is blocked or has failed is over once the
// task's status was changed, or a session at work got a message about the task: somebody wants it to go on.
func (s *State) Stands(t *Task, said StatusReport) events.TaskSessionStatus {
	if said.Status != events.SaysBlocked && said.Status != events.SaysFailed {
		return said.Status
	}
	x := s.Session(said.SessionID)
	if said.Sequence < t.StatusSequence ||
		x != nil && x.Active() && x.MessagedSince(t.ID, said.Sequence) && !s.gaveUp(x, t) {
		return ""
	}
	return said.Status
}

// HasLeft reports whether a session had a task as an item of a queue, also of one that was deleted since, and does not
// hold the item any more: it gets the task again only as everybody who starts it.
func (s *State) HasLeft(x *Session, t *Task) bool {
	if x.Queue == "" || s.Item(x.ProjectID, x.Queue, t.ID) == nil && !s.HeldOnce(x.ID, t.ID) {
		return false
	}
	held := s.Holds(x)
	return held == nil || held.TaskID != t.ID
}

// gaveUp reports whether a session has left a task and does not say that it goes on with it. What it said while it held
// the item is either how that ended, or was taken back with the item.
func (s *State) gaveUp(x *Session, t *Task) bool {
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(x.ID)
	return (said.Status == "" || said.isOutcome()) && s.HasLeft(x, t)
}

// UnansweredWord is [State.SessionWord] until the session gets a message that is about no task.
func (s *State) UnansweredWord(x *Session) *Entry {
	word := s.SessionWord(x)
	if word == nil || x.MessagedSince("", word.Sequence) {
		return nil
	}
	return word
}

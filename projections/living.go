package projections

import (
	"iter"

	"github.com/google/uuid"
)

// What is alive or open is kept apart from what ever was, in lines by the sequence of the event that made it: who looks
// for it walks past nothing that has ended. All of this follows from the sessions and questions, so nothing of it is
// encoded.

// standing counts what may end, of a root and of all projects below it.
type standing struct{ sessions, questions int }

// Living returns the sessions of all projects that have not ended, in order of creation.
func (s *State) Living() iter.Seq[*Session] { return s.sessionsIn(s.living) }

// LivingIDs is Living by ids, as it is now. The ids may be gone through when the state has moved.
func (s *State) LivingIDs() iter.Seq[string] { return s.living.walk }

func (s *State) sessionsIn(these line) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		these.walk(func(id string) bool { return yield(s.sessions.get(id)) })
	}
}

// LivingSessions counts the sessions of a root and of all projects below it that have not ended.
func (s *State) LivingSessions(root string) int { return s.standing.get(root).sessions }

// OpenQuestions counts the open questions of a root and of all projects below it.
func (s *State) OpenQuestions(root string) int { return s.standing.get(root).questions }

// OpenQuestionsOf counts a session's open questions.
func (s *State) OpenQuestionsOf(session string) int { return s.asking.get(session).len() }

// sequenceOf returns the sequence of a former event; 0 if there is none.
func (s *State) sequenceOf(c Cause) uint64 {
	event, err := uuid.Parse(c.Event)
	if err != nil {
		return 0
	}
	sequence, _ := s.Accepted(event)
	return sequence
}

// count adds to what stands in a project's root.
func (s *State) count(project string, by standing) {
	root := s.Root(project)
	now := s.standing.get(root)
	s.standing.put(root, standing{now.sessions + by.sessions, now.questions + by.questions})
}

// lives adds a newly created session to the living ones.
func (s *State) lives(x *Session, at uint64) {
	s.living = s.living.with(at, x.ID)
	if x.Deadline > 0 {
		s.timed = s.timed.with(at, x.ID)
	}
	s.count(x.ProjectID, standing{sessions: 1})
	s.work(2 * lineCost)
	s.hang(x, at)
}

// ends takes a session that has ended away from the living, and its open questions with it: they are void.
func (s *State) ends(x *Session) {
	at := s.sequenceOf(x.Cause)
	s.living, s.timed = s.living.without(at), s.timed.without(at)
	s.count(x.ProjectID, standing{sessions: -1})
	s.work(2 * lineCost)
	s.asking.get(x.ID).walk(func(id string) bool {
		s.closes(s.inputs.get(id))
		return true
	})
	s.unhang(x)
}

// hang puts a living session among those below the one that spawned it, and that one too if it has ended, and so on.
func (s *State) hang(x *Session, at uint64) {
	for x.SpawnedBy != "" {
		below := s.spawned.get(x.SpawnedBy)
		if below.has(at) {
			return
		}
		s.spawned.put(x.SpawnedBy, below.with(at, x.ID))
		s.work(lineCost)
		if x = s.sessions.get(x.SpawnedBy); x == nil || !x.Ended() {
			return
		}
		at = s.sequenceOf(x.Cause)
	}
}

// unhang takes away a session that has ended and has nothing living below it, and those above it of which this is true.
func (s *State) unhang(x *Session) {
	for x != nil && x.Ended() && x.SpawnedBy != "" && s.spawned.get(x.ID).len() == 0 {
		at, below := s.sequenceOf(x.Cause), s.spawned.get(x.SpawnedBy)
		if !below.has(at) {
			return
		}
		s.spawned.put(x.SpawnedBy, below.without(at))
		s.work(lineCost)
		x = s.sessions.get(x.SpawnedBy)
	}
}

// asks opens a question; one of a session that has ended is void from the start.
func (s *State) asks(x *Input, at uint64) {
	if s.InputStatus(x) != InputOpen {
		return
	}
	s.unanswered.put(x.ProjectID, s.unanswered.get(x.ProjectID).with(at, x.ID))
	s.asking.put(x.SessionID, s.asking.get(x.SessionID).with(at, x.ID))
	s.count(x.ProjectID, standing{questions: 1})
	s.work(2 * lineCost)
}

// closes ends a question that is answered or void; one that is not open stays as it is.
func (s *State) closes(x *Input) {
	at := s.sequenceOf(x.Asked)
	if !s.unanswered.get(x.ProjectID).has(at) {
		return
	}
	s.unanswered.put(x.ProjectID, s.unanswered.get(x.ProjectID).without(at))
	s.asking.put(x.SessionID, s.asking.get(x.SessionID).without(at))
	s.count(x.ProjectID, standing{questions: -1})
	s.work(2 * lineCost)
}

// restoreLiving finds what is alive and open among what a snapshot holds. The ids of the events are in place.
func (s *State) restoreLiving(h *header) {
	for _, x := range h.Sessions {
		if !x.Ended() {
			s.lives(x, s.sequenceOf(x.Cause))
		}
	}
	for _, x := range h.Inputs {
		s.asks(x, s.sequenceOf(x.Asked))
	}
}

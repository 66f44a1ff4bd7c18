package projections

import (
	"iter"

	"github.com/google/uuid"
)

// Living and open objects are indexed separately, in lines by the sequence of the event that created them, so that a
// search does not visit ended ones. The index is derived from the sessions and questions, so it is not encoded.

// openCounts counts the living and open objects of a root and of all projects below it.
type openCounts struct{ sessions, questions int }

// Living returns the sessions of all projects that have not ended, in order of creation.
func (s *State) Living() iter.Seq[*Session] { return s.sessionsIn(s.living) }

// LivingIDs is the present Living, by id. The ids may be iterated after the state has changed.
func (s *State) LivingIDs() iter.Seq[string] { return s.living.walk }

func (s *State) sessionsIn(these line) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		these.walk(func(id string) bool { return yield(s.sessions.get(id)) })
	}
}

// LivingSessions counts the sessions of a root and of all projects below it that have not ended.
func (s *State) LivingSessions(root string) int { return s.standing.get(root).sessions }

// workersLooked bounds the sessions that HasWorking examines: of more, it assumes that one is at work.
const workersLooked = 50

// HasWorking reports whether sessions that one spawned, or those below these, are at work.
func (s *State) HasWorking(session string) (working bool) {
	looked := 0
	s.spawned.get(session).walk(func(id string) bool {
		s.work(1)
		x := s.sessions.get(id)
		looked++
		working = looked > workersLooked || x.Active() || s.spawned.get(id).len() > 0
		return !working
	})
	return working
}

// AskedByWorkers reports whether sessions that one spawned wait for an answer. Of many, it looks at the first ones.
func (s *State) AskedByWorkers(session string) (asked bool) {
	looked := 0
	s.spawned.get(session).walk(func(id string) bool {
		s.work(1)
		for x := range s.OpenQuestionsFrom(id) {
			if s.work(1); s.NeedsAnswer(x) {
				asked = true
				break
			}
		}
		looked++
		return !asked && looked < workersLooked
	})
	return asked
}

// OpenQuestions counts the open questions of a root and of all projects below it.
func (s *State) OpenQuestions(root string) int { return s.standing.get(root).questions }

// OpenQuestionsOf counts a session's open questions.
func (s *State) OpenQuestionsOf(session string) int { return s.asking.get(session).len() }

// OpenQuestionsFrom returns a session's open questions, in the order in which they were asked.
func (s *State) OpenQuestionsFrom(session string) iter.Seq[*Input] {
	return func(yield func(*Input) bool) {
		s.asking.get(session).walk(func(id string) bool { return yield(s.inputs.get(id)) })
	}
}

// sequenceOf returns the sequence of an earlier event; 0 if there is none.
func (s *State) sequenceOf(c Cause) uint64 {
	event, err := uuid.Parse(c.Event)
	if err != nil {
		return 0
	}
	sequence, _ := s.Accepted(event)
	return sequence
}

// count adds to the counts of a project's root.
func (s *State) count(project string, by openCounts) {
	root := s.Root(project)
	now := s.standing.get(root)
	s.standing.put(root, openCounts{now.sessions + by.sessions, now.questions + by.questions})
}

// lives adds a new session to the living ones.
func (s *State) lives(x *Session, at uint64) {
	s.living = s.living.with(at, x.ID)
	if x.Deadline > 0 {
		s.timed = s.timed.with(at, x.ID)
	}
	s.count(x.ProjectID, openCounts{sessions: 1})
	s.work(2 * lineCost)
	s.hang(x, at)
}

// livesAgain adds a session that had ended to the living ones, and opens its questions again.
func (s *State) livesAgain(x *Session) {
	s.lives(x, s.sequenceOf(x.Cause))
	void := s.voids.get(x.ID)
	if void.len() == 0 {
		return
	}
	s.voids.put(x.ID, line{})
	void.walk(func(id string) bool {
		input := s.inputs.get(id)
		s.asks(input, s.sequenceOf(input.Asked))
		return true
	})
}

// ends removes an ended session from the living ones, and its open questions, which become void.
func (s *State) ends(x *Session) {
	at := s.sequenceOf(x.Cause)
	s.living, s.timed = s.living.without(at), s.timed.without(at)
	s.count(x.ProjectID, openCounts{sessions: -1})
	s.work(2 * lineCost)
	s.asking.get(x.ID).walk(func(id string) bool {
		input := s.inputs.get(id)
		s.closes(input)
		s.isVoid(input, s.sequenceOf(input.Asked))
		return true
	})
	s.unhang(x)
}

// hang adds a living session to those below its spawner, and that one to its own spawner's if it has ended, and so on.
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

// unhang removes an ended session with nothing living below it, and those above it for which the same is true.
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

// asks opens a question; a question of an ended session is void from the start.
func (s *State) asks(x *Input, at uint64) {
	switch s.InputStatus(x) {
	case InputOpen:
	case InputVoid:
		s.isVoid(x, at)
		return
	case InputAnswered, InputDelivered:
		return
	}
	s.unanswered.put(x.ProjectID, s.unanswered.get(x.ProjectID).with(at, x.ID))
	s.asking.put(x.SessionID, s.asking.get(x.SessionID).with(at, x.ID))
	s.count(x.ProjectID, openCounts{questions: 1})
	s.work(2 * lineCost)
}

// isVoid remembers a question of an ended session: it is open again if the session is resumed, unless it was about the
// start of a run.
func (s *State) isVoid(x *Input, at uint64) {
	if s.Session(x.SessionID) == nil || x.Run != 0 { // nobody resumes it
		return
	}
	s.voids.put(x.SessionID, s.voids.get(x.SessionID).with(at, x.ID))
	s.work(lineCost)
}

// closes removes a question that is answered or void; a question that is not open is unaffected.
func (s *State) closes(x *Input) {
	at := s.sequenceOf(x.Asked)
	if void := s.voids.get(x.SessionID); void.has(at) {
		s.voids.put(x.SessionID, void.without(at))
		s.work(lineCost)
	}
	if !s.unanswered.get(x.ProjectID).has(at) {
		return
	}
	s.unanswered.put(x.ProjectID, s.unanswered.get(x.ProjectID).without(at))
	s.asking.put(x.SessionID, s.asking.get(x.SessionID).without(at))
	s.count(x.ProjectID, openCounts{questions: -1})
	s.work(2 * lineCost)
}

// restoreLiving rebuilds the index from a snapshot. The ids of the events are restored already.
func (s *State) restoreLiving(h *header) {
	for _, x := range h.Sessions {
		if !x.Ended() {
			s.lives(x, s.sequenceOf(x.Cause))
		}
		s.employs(nil, x, s.sequenceOf(x.Cause))
	}
	for _, x := range h.Inputs {
		if x.AnsweredAt == 0 {
			s.asks(x, s.sequenceOf(x.Asked))
		}
	}
}

package projections

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"maestro/events"
)

// InputStatus is the status of a question.
type InputStatus string

// The statuses of a question: void is one whose session ended before it was answered.
const (
	InputOpen      InputStatus = "open"
	InputAnswered  InputStatus = "answered"
	InputDelivered InputStatus = "delivered"
	InputVoid      InputStatus = "void"
)

// Input is a question of a session. Times are milliseconds since 1970, 0 for never. Immutable.
type Input struct {
	ID        string
	ProjectID string
	SessionID string
	TaskIDs   []string
	// Run is the run that cannot start without the answer; 0 for a question of the session itself.
	Run int `json:",omitempty"`
	// OnTask is the task at which the session worked when it asked, if TaskIDs names none and that is known.
	OnTask   string `json:",omitempty"`
	Question string
	// Blob is the digest of the whole question, if Question is only its beginning.
	Blob    string
	Options []string
	Answer  string
	// AnsweredBy is the source of the answer.
	AnsweredBy  string
	AskedAt     int64
	AnsweredAt  int64
	DeliveredAt int64
	// AnsweredSequence orders the answer among others.
	AnsweredSequence uint64
	// Asked and Answered are the events.
	Asked, Answered Cause
}

// Input returns a question, or nil.
func (s *State) Input(id string) *Input { return s.inputs.get(id) }

// Inputs returns a project's questions in the order in which they were asked.
func (s *State) Inputs(project string) iter.Seq[*Input] {
	return func(yield func(*Input) bool) {
		for _, id := range s.inputIDs.get(project) {
			if !yield(s.inputs.get(id)) {
				return
			}
		}
	}
}

// InputIDsFrom returns the ids of a project's questions that were asked at a time or later, in the order in which they
// were asked.
func (s *State) InputIDsFrom(project string, at int64) []string {
	ids := s.inputIDs.get(project)
	if at == 0 {
		return ids
	}
	return ids[sort.Search(len(ids), func(i int) bool { return s.inputs.get(ids[i]).AskedAt >= at }):]
}

// Undelivered returns a session's unread mail: the ids of its answered questions, and of messages, in order of arrival.
func (s *State) Undelivered(session string) []string { return s.undelivered.get(session) }

// InputStatus returns the status of a question.
func (s *State) InputStatus(x *Input) InputStatus {
	session := s.Session(x.SessionID)
	switch {
	case x.DeliveredAt != 0:
		return InputDelivered
	case x.AnsweredAt != 0:
		return InputAnswered
	case session == nil || session.Ended(), x.Run != 0 && session.isBeyond(x.Run):
		return InputVoid
	}
	return InputOpen
}

func (s *State) changeInput(id string, edit func(*Input)) {
	before := s.inputs.get(id)
	after := *before
	edit(&after)
	s.changes = append(s.changes, Change{KindInput, id, before, &after})
	s.inputs.put(id, &after)
}

// inputOpened adds a question, with what the event says about it.
func (s *State) inputOpened(f fact, x *Input) {
	x.ProjectID, x.AskedAt, x.Asked = f.Project, f.at, f.cause()
	s.changes = append(s.changes, Change{KindInput, x.ID, (*Input)(nil), x})
	s.inputs.put(x.ID, x)
	s.inputIDs.put(x.ProjectID, append(s.inputIDs.get(x.ProjectID), x.ID))
	s.asks(x, f.sequence)
}

// askedAt returns the task at which a session works that asks without naming one: that of the item that it holds, or
// its only one; "" if that is unknown.
func (s *State) askedAt(asker string, tasks []string) string {
	session := s.SessionEver(asker)
	if session == nil || len(tasks) > 0 {
		return ""
	}
	if item := s.Holds(session); item != nil {
		return item.TaskID
	}
	if session.Strategy != events.StrategyQueue && len(session.TaskIDs) == 1 {
		return session.TaskIDs[0]
	}
	return ""
}

func (s *State) inputAnswered(f fact, d *events.InputAnswered) error {
	x := s.Input(d.InputID)
	if x == nil {
		return missing("question", d.InputID)
	}
	if x.AnsweredAt != 0 {
		return fmt.Errorf("it answers the question %q, which has its answer", x.ID)
	}
	if d.SessionID != x.SessionID {
		return fmt.Errorf("it answers the question %q for session %q, and %q asked it", x.ID, d.SessionID, x.SessionID)
	}
	s.changeInput(d.InputID, func(x *Input) {
		x.Answer, x.AnsweredBy, x.AnsweredAt, x.Answered = d.Answer, f.Source, f.at, f.cause()
		x.AnsweredSequence = f.sequence
	})
	s.closes(x)
	s.deliver(x.SessionID, x.ID)
	for index := range max(1, len(d.TaskIDs)) {
		s.note(f, index)
	}
	return nil
}

func (s *State) inputDelivered(f fact, d *events.InputDelivered) error {
	x := s.Input(d.InputID)
	if x == nil {
		return s.messageDelivered(d)
	}
	if x.AnsweredAt == 0 || x.DeliveredAt != 0 {
		return fmt.Errorf("it delivers the answer to the question %q, which is %s", x.ID, s.InputStatus(x))
	}
	s.changeInput(d.InputID, func(x *Input) { x.DeliveredAt = f.at })
	s.undelivered.put(x.SessionID, s.omit(s.undelivered.get(x.SessionID), x.ID))
	return nil
}

// omit returns the ids without one, and does not change the given list.
func (s *State) omit(ids []string, id string) []string {
	s.work(uint64(len(ids)))
	rest := slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
	if len(rest) == 0 {
		return nil // as if there never was one
	}
	return rest
}

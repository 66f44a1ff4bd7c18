package projections

import (
	"iter"
	"slices"

	"maestro/events"
)

// mostTogether bounds the statements in one list. A new statement copies two such lists at most, however many sessions
// made statements before.
const mostTogether = 32

// EarlierReports holds all but the newest reports on a task, oldest first, in parts of at most mostTogether. Two
// neighbouring parts together hold more than that, so there are few parts. Immutable.
type EarlierReports struct{ Parts [][]StatusReport }

// parts returns the statements in parts, oldest first; the last part is the newest.
func (t *Task) parts() iter.Seq[[]StatusReport] {
	return func(yield func([]StatusReport) bool) {
		for _, part := range t.earlierParts() {
			if !yield(part) {
				return
			}
		}
		if len(t.Says) > 0 {
			yield(t.Says)
		}
	}
}

// AllSays returns the last statement of each of the task's sessions, oldest first.
func (t *Task) AllSays() []StatusReport {
	if t.earlier() == nil {
		return t.Says
	}
	return slices.Concat(slices.Collect(t.parts())...)
}

// newestSays returns at most so many of the newest statements, oldest first, and the number of the others.
func (t *Task) newestSays(most int) (says []StatusReport, more int) {
	all := t.Speakers()
	if all <= most {
		return t.AllSays(), 0
	}
	says = make([]StatusReport, 0, most)
	take := func(part []StatusReport) {
		for _, said := range slices.Backward(part) {
			if len(says) < most {
				says = append(says, said)
			}
		}
	}
	take(t.Says)
	for _, part := range slices.Backward(t.earlierParts()) {
		if len(says) == most {
			break
		}
		take(part)
	}
	slices.Reverse(says)
	return says, all - most
}

// saysTheSame reports whether no statement was added or removed between two versions of a task.
func (t *Task) saysTheSame(other *Task) bool {
	return t.earlier() == other.earlier() && len(t.Says) == len(other.Says) &&
		(len(t.Says) == 0 || &t.Says[0] == &other.Says[0])
}

// Speakers counts the sessions with a statement on the task.
func (t *Task) Speakers() int {
	n := len(t.Says)
	for _, part := range t.earlierParts() {
		n += len(part)
	}
	return n
}

// SaidBy returns a session's statement on the task, zero if there is none.
func (t *Task) SaidBy(session string) StatusReport {
	for part := range t.parts() {
		if i := indexOf(part, session); i >= 0 {
			return part[i]
		}
	}
	return StatusReport{}
}

func indexOf(says []StatusReport, session string) int {
	return slices.IndexFunc(says, func(said StatusReport) bool { return said.SessionID == session })
}

// newest returns the newest statement that wanted accepts; zero if there is none.
func (t *Task) newest(wanted func(StatusReport) bool) StatusReport {
	for _, said := range slices.Backward(t.Says) {
		if wanted(said) {
			return said
		}
	}
	for _, part := range slices.Backward(t.earlierParts()) {
		for _, said := range slices.Backward(part) {
			if wanted(said) {
				return said
			}
		}
	}
	return StatusReport{}
}

// addSaid appends a statement, in place of the session's former one, and returns how many statements it copied.
func (t *Task) addSaid(said StatusReport) (copied int) {
	if i := indexOf(t.Says, said.SessionID); i >= 0 { // as below, in one step
		rest := len(t.Says) - 1
		says := append(make([]StatusReport, 0, rest+1), t.Says[:i]...)
		t.Says = append(append(says, t.Says[i+1:]...), said)
		return rest + rest + 1
	}
	copied = t.dropSaid(said.SessionID)
	if len(t.Says) >= mostTogether {
		parts := t.earlierParts()
		copied += len(parts) + 1
		t.setEarlier(append(slices.Clip(parts), t.Says))
		t.Says = nil
	}
	copied += len(t.Says) + 1
	t.Says = append(slices.Clip(t.Says), said)
	return copied
}

// dropSaid removes a session's statement, and returns how many statements it copied.
func (t *Task) dropSaid(session string) (copied int) {
	if i := indexOf(t.Says, session); i >= 0 {
		t.Says = slices.Delete(slices.Clone(t.Says), i, i+1)
		return len(t.Says)
	}
	for at, part := range t.earlierParts() {
		i := indexOf(part, session)
		if i < 0 {
			continue
		}
		part = slices.Delete(slices.Clone(part), i, i+1)
		parts := slices.Clone(t.earlierParts())
		copied = len(part) + len(parts)
		switch {
		case at > 0 && len(parts[at-1])+len(part) <= mostTogether:
			parts[at-1] = slices.Concat(parts[at-1], part)
			parts = slices.Delete(parts, at, at+1)
		case at+1 < len(parts) && len(part)+len(parts[at+1]) <= mostTogether:
			parts[at] = slices.Concat(part, parts[at+1])
			parts = slices.Delete(parts, at+1, at+2)
		default:
			parts[at] = part
		}
		t.setEarlier(slices.DeleteFunc(parts, func(part []StatusReport) bool { return len(part) == 0 }))
		return copied + mostTogether
	}
	return 0
}

// keepSays removes the statements that wanted rejects, and returns how many it examined.
func (t *Task) keepSays(wanted func(StatusReport) bool) (copied int) {
	all := t.AllSays()
	rest := slices.DeleteFunc(slices.Clone(all), func(said StatusReport) bool { return !wanted(said) })
	var parts [][]StatusReport
	for len(rest) > mostTogether {
		parts = append(parts, rest[:mostTogether:mostTogether])
		rest = rest[mostTogether:]
	}
	t.setEarlier(parts)
	t.Says = rest
	return len(all)
}

func (t *Task) earlier() *EarlierReports {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Earlier
}

func (t *Task) earlierParts() [][]StatusReport {
	if e := t.earlier(); e != nil {
		return e.Parts
	}
	return nil
}

func (t *Task) setEarlier(parts [][]StatusReport) {
	s := TaskOutcome{Reason: t.StatusReason(), Result: t.Result()}
	if len(parts) > 0 {
		s.Earlier = &EarlierReports{parts}
	}
	t.stated(s)
}

// SessionStatus returns the reported status of a task and its session: the newest statement that stands, or, if none
// does, the newest of all; "" if there is none. An outcome stands, whatever becomes of its session; another statement
// stands until its session has ended.
func (s *State) SessionStatus(t *Task) (says events.TaskSessionStatus, session string) {
	return t.saysBy(s.alive)
}

// alive reports whether there is such a session that has not ended.
func (s *State) alive(session string) bool {
	x := s.Session(session)
	return x != nil && !x.Ended()
}

// saysBy is [State.SessionStatus] for callers that know which sessions are alive.
func (t *Task) saysBy(alive func(session string) bool) (says events.TaskSessionStatus, session string) {
	counts := t.newest(func(said StatusReport) bool { return said.isOutcome() || alive(said.SessionID) })
	if counts.SessionID == "" {
		counts = t.newest(func(StatusReport) bool { return true })
	}
	return counts.Status, counts.SessionID
}

// listener finds the session statuses of many tasks, and looks up each session once.
type listener struct {
	*State
	known map[string]bool
}

func (s *State) listen() *listener { return &listener{s, map[string]bool{}} }

// says is [State.SessionStatus].
func (l *listener) says(t *Task) (says events.TaskSessionStatus, session string) {
	looked := 0
	says, session = t.saysBy(func(session string) bool {
		looked++
		alive, known := l.known[session]
		if !known {
			alive = l.alive(session)
			l.known[session] = alive
		}
		return alive
	})
	l.lookedThrough(looked)
	return says, session
}

// saidDone reports whether the statement that counts for a task says that it is done.
func (s *State) saidDone(t *Task) bool {
	says, _ := s.SessionStatus(t)
	return says == events.SaysCompleted
}

// say appends a session's statement on a task, in place of its former one. Its words are in the event's entry with this
// index. The text of a completion is the task's result.
func (s *State) say(f fact, task, session string, status events.TaskSessionStatus, index int) {
	var words *Words
	if status != events.SaysWorking {
		words = f.words(index)
	}
	s.changeTask(task, func(t *Task) {
		s.lookedThrough(t.Speakers())
		if status == events.SaysFailed && words != nil && words.Text == "" { // the error was reported before
			if before := s.reportedError(t, session); before != nil {
				words = &Words{words.What, before.Text, before.Blob, words.By}
			}
		}
		doubt := s.doubt(t, status, session)
		s.work(uint64(t.addSaid(StatusReport{session, status, events.Millis(f.at), f.sequence, words, doubt})))
		t.UpdatedAt = f.at
		if status == events.SaysCompleted && words != nil && words.Text != "" {
			t.state(t.StatusReason(), f.statement(words.Text, words.Blob))
		}
	})
	s.speaksOf(session, s.tasks.get(task))
}

// doubt returns what a session said of an error, if it says next that the task is done. A report in between, or a
// message to it about the task, settles the error.
func (s *State) doubt(t *Task, status events.TaskSessionStatus, session string) *Words {
	if status != events.SaysCompleted {
		return nil
	}
	before := t.SaidBy(session)
	if s.Stands(t, before) == events.SaysFailed {
		return before.Words
	}
	if x := s.Session(session); x == nil || before.SessionID == "" {
		return nil
	}
	if words := s.errorSince(before); words != nil {
		return words
	}
	return before.Doubt
}

// errorSince returns what a session said of an error as a whole, since its statement on a task; nil if it said nothing.
func (s *State) errorSince(before StatusReport) *Words {
	x := s.Session(before.SessionID)
	if x == nil {
		return nil
	}
	word := s.UnansweredWord(x)
	if word == nil || word.Type != reportType(events.ReportError) || word.Sequence <= before.Sequence {
		return nil
	}
	return &Words{word.What, word.Message, word.Blob, word.Source}
}

// reportedError returns the error that a session reported on a task, or as a whole since its last statement on the
// task; nil if there is none.
func (s *State) reportedError(t *Task, session string) *Words {
	before := t.SaidBy(session)
	if before.Status == events.SaysFailed && before.Words != nil {
		return before.Words
	}
	return s.errorSince(before)
}

// retract removes a session's statement on a task.
func (s *State) retract(f fact, task, session string) {
	s.changeTask(task, func(t *Task) {
		s.lookedThrough(t.Speakers())
		s.work(uint64(t.dropSaid(session)))
		t.UpdatedAt = f.at
	})
	if of, at := s.spokeOf.get(session), s.tasks.get(task).CreatedSequence; of.has(at) {
		s.spokeOf.put(session, of.without(at))
		s.work(lineCost)
	}
}

// speaksOf records that a session has a statement on a task.
func (s *State) speaksOf(session string, t *Task) {
	if of := s.spokeOf.get(session); !of.has(t.CreatedSequence) {
		s.spokeOf.put(session, of.with(t.CreatedSequence, t.ID))
		s.work(lineCost)
	}
}

// StatusReport is a session's status report on a task, and its time.
type StatusReport struct {
	SessionID string                   `json:"sessionId"`
	Status    events.TaskSessionStatus `json:"status"`
	At        events.Millis            `json:"at"`
	// Sequence is the event of the report.
	Sequence uint64 `json:"sequence"`
	// Words is what the session said with it; nil if that is nothing, or if it says that it works.
	Words *Words `json:"-"`
	// Doubt is what it said before that of an error, if it says that the task is done.
	Doubt *Words `json:"-"`
}

// isOutcome reports whether it says how the work on the task ended.
func (said StatusReport) isOutcome() bool {
	return said.Status == events.SaysCompleted || said.Status == events.SaysFailed
}

// withoutDone returns whether a statement on a reopened task stays: none that the task is done, and nothing that was
// said before that by a session that is not at work.
func (s *State) withoutDone(t *Task) func(StatusReport) bool {
	done := t.newest(func(said StatusReport) bool { return said.Status == events.SaysCompleted }).Sequence
	return func(said StatusReport) bool {
		if said.Status == events.SaysCompleted {
			return false
		}
		if said.Sequence > done {
			return true
		}
		x := s.Session(said.SessionID)
		return x != nil && x.Active()
	}
}

// Words is what a session said with a statement on a task, as its entry on the task's timeline. Immutable.
type Words struct {
	What, Text string
	// Blob is the digest of the whole text, if Text is only its beginning.
	Blob string `json:",omitempty"`
	// By is the source of the event.
	By string
}

// words returns what the entry with this index says, nil if that is nothing.
func (f fact) words(index int) *Words {
	e := f.entry(index)
	if e.What == "" && e.Message == "" {
		return nil
	}
	return &Words{e.What, e.Message, e.Blob, e.Source}
}

// String returns the words as text: what happened, and what was said; "" for none.
func (w *Words) String() string {
	if w == nil {
		return ""
	}
	return textOf(w.What, w.Text)
}

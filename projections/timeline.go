package projections

import (
	"encoding/json"
	"strconv"
	"strings"

	"maestro/events"
)

// Entry is one line of a timeline, as its event says it. Immutable.
type Entry struct {
	// Sequence and Index order it: several entries may come from one event.
	Sequence uint64
	Index    int
	// At is when it was decided, OccurredAt when it was said if that was earlier; milliseconds since 1970.
	At, OccurredAt int64
	// Type is progress, task_completed, task_blocked, error, needs_input, task_status_changed, session_started, …
	Type   string
	Source string
	// InputID is the question that it asks or answers, "" for none.
	InputID string `json:",omitempty"`
	// SessionID and TaskID name the timelines that have it, unless it is Apart; "" for none.
	SessionID, TaskID string
	// What describes the event, "" if there is only somebody's text. No code interprets it.
	What string
	// Message is somebody's text: that of a report, a reason, an answer, a note.
	Message string
	// Blob is the digest of the whole message, if Message is only its beginning.
	Blob string
	Data json.RawMessage `json:",omitempty"`
	// Bare marks an entry without text, such as a tracked file: older clients read it as an event, not in the timeline.
	Bare bool
	// Apart marks an entry that names a task without being on that task's timeline.
	Apart bool
	// Late marks a report after the session's end.
	Late bool
	// Reopens marks an entry whose message is why its task was reopened.
	Reopens bool `json:",omitempty"`
}

// TypeUnlinked is the type of the entry that shows a task being taken from a session.
const TypeUnlinked = "task_unlinked"

// Statement is somebody's text on a task, from the entry of an event on its timeline. Immutable.
type Statement struct {
	Sequence uint64
	At       int64
	// By is the source of the event.
	By string
	// Text is "" if the event has none, Blob the digest of the whole text if Text is only its beginning.
	Text string `json:",omitempty"`
	Blob string `json:",omitempty"`
}

// statement returns the text of the event itself.
func (f fact) statement(text, blob string) *Statement {
	return &Statement{f.sequence, f.at, f.Source, text, blob}
}

// ID identifies an entry within its log.
func (e *Entry) ID() string {
	id := "evt_" + strconv.FormatUint(e.Sequence, 10)
	if e.Index > 0 {
		id += "_" + strconv.Itoa(e.Index)
	}
	return id
}

// Text returns the entry as text: what happened, and what was said.
func (e *Entry) Text() string { return textOf(e.What, e.Message) }

func textOf(what, said string) string {
	if what == "" || said == "" {
		return what + said
	}
	return what + ": " + said
}

// SessionTimeline returns the entries of a session.
func (s *State) SessionTimeline(id string) Timeline { return s.sessionTimelines.get(id) }

// TaskTimeline returns the entries of a task.
func (s *State) TaskTimeline(id string) Timeline { return s.taskTimelines.get(id) }

// note adds an entry of the event to the timelines that it names.
func (s *State) note(f fact, index int) { s.add(f.entry(index), false) }

// add adds an entry to its timelines. The state keeps its place in the log; the log has its text.
func (s *State) add(e Entry, taskless bool) {
	place := placeOf(&e, taskless)
	if e.SessionID != "" {
		timeline := s.sessionTimelines.get(e.SessionID)
		if len(timeline) == 0 && s.sessions.get(e.SessionID) == nil {
			s.unowned = append(s.unowned, unowned{ofSession, e.SessionID})
		}
		s.sessionTimelines.put(e.SessionID, s.extended(timeline, place))
		s.refer(e.Blob, BlobRef{KindSessionTimeline, e.SessionID})
		s.halt(&e)
		s.newestOf(&e)
		s.changes = append(s.changes, Change{KindSessionTimeline, e.SessionID, nil, &e})
	}
	if e.TaskID != "" && !e.Apart {
		timeline := s.taskTimelines.get(e.TaskID)
		if len(timeline) == 0 && s.tasks.get(e.TaskID) == nil {
			s.unowned = append(s.unowned, unowned{ofTask, e.TaskID})
		}
		s.taskTimelines.put(e.TaskID, s.extended(timeline, place))
		s.refer(e.Blob, BlobRef{KindTaskTimeline, e.TaskID})
		s.changes = append(s.changes, Change{KindTaskTimeline, e.TaskID, nil, &e})
	}
	if e.Late {
		project := s.SessionProject(e.SessionID)
		s.late.put(project, append(s.late.get(project), &e))
	}
}

// Cause identifies an event in a chain of causes.
type Cause struct {
	// Event is its id, First that of the first event of the chain.
	Event, First string
}

// cause returns the event as a cause of others.
func (f fact) cause() Cause {
	id := f.ID.String()
	if f.CorrelationID != "" {
		return Cause{id, f.CorrelationID}
	}
	return Cause{id, id}
}

// author returns the session that an event comes from, or "".
func (f fact) author() string {
	_, session, _ := SessionOfSource(f.Source)
	return session
}

// SessionOfSource splits the source "/projects/<project>/sessions/<session>".
func SessionOfSource(source string) (project, session string, ok bool) {
	rest, ok := strings.CutPrefix(source, "/projects/")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/sessions/")
}

// TypeFile is the type of the entry for a changed file.
const TypeFile = "file_modified"

// IsReserved reports whether a type of entries is for decisions, so that a session cannot write notes of it. What
// its reports write is none: see [ReportOfType].
func IsReserved(kind string) bool {
	switch {
	case kind == reportType(events.ReportComplete), kind == reportType(events.ReportBlocked):
		return false
	case strings.HasPrefix(kind, "session_"), strings.HasPrefix(kind, "task_"), strings.HasPrefix(kind, "input_"):
		return true
	}
	return false
}

// WritesType reports whether Maestro itself writes entries of a type: a decision, a report, a changed file, or the end
// of a command. Other types are those of notes.
func WritesType(kind string) bool {
	switch kind {
	case reportType(events.ReportProgress), TypeExited, TypeFile:
		return true
	}
	return IsReserved(kind) || ReportOfType(kind) != ""
}

// ReportOfType returns the kind of report that writes entries of a type, "" if none does. Notes are of type progress
// too.
func ReportOfType(kind string) events.ReportKind {
	for _, report := range []events.ReportKind{
		events.ReportComplete, events.ReportBlocked, events.ReportError, events.ReportNeedsInput,
	} {
		if reportType(report) == kind {
			return report
		}
	}
	return ""
}

// reportType returns the entry type that older clients know for a kind of report.
func reportType(kind events.ReportKind) string {
	switch kind {
	case events.ReportProgress:
		return "progress"
	case events.ReportComplete:
		return "task_completed"
	case events.ReportBlocked:
		return "task_blocked"
	case events.ReportError:
		return "error"
	case events.ReportNeedsInput:
		return "needs_input"
	}
	return string(kind)
}

package service

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// liveFrame is an event with the views that it changed, encoded once for all readers. Immutable.
type liveFrame struct {
	Position

	event *events.Event
	// text is the stored event.
	text    []byte
	changes []liveChange
	size    int
}

// liveChange is a view after an event, or a new entry of a timeline.
type liveChange struct {
	projections.ViewKey

	// project is that of the object, "" for none; every says that everybody may see it.
	project string
	every   bool
	// concerns are the sessions and tasks that the object is about, concerned those that it was about before the event.
	concerns, concerned liveAbout
	// whole is the value as JSON, null if the object is gone. If it holds what only some may see, open is the value
	// without that, and owner the session that it belongs to.
	whole, open []byte
	owner       string
	// input is the question that this shows; nil for other objects. Only some may see it.
	input *projections.Input
	// mail says that what open lacks is for readers of the owner's mail; otherwise it is the owner's environment.
	mail bool
}

// liveAbout are the sessions and the tasks that an object is about.
type liveAbout struct{ sessions, tasks []string }

// frameOf encodes the newest event of a state. The views are those that the index names.
func frameOf(s *projections.State, x *projections.ViewIndex, c *engine.Commit) *liveFrame {
	f := &liveFrame{Position: positionOf(c.Sequence, c.Body), event: c.Event, text: c.Text}
	f.size = len(c.Text)
	for _, key := range x.Changed(s, c.Changes) {
		f.add(liveView(s, x, key, c.Changes))
	}
	for _, change := range c.Changes {
		if entry, ok := change.After.(*projections.Entry); ok {
			f.add(liveEntry(s, change, entry))
		}
	}
	return f
}

func (f *liveFrame) add(change liveChange) {
	f.changes = append(f.changes, change)
	f.size += len(change.whole) + len(change.open) + len(change.ID)
}

// liveView encodes a view. changes are those of the event, whose values before it say whom else it was about.
func liveView(
	s *projections.State, x *projections.ViewIndex, key projections.ViewKey, changes []projections.Change,
) liveChange {
	view := x.View(s, key)
	l := liveChange{ViewKey: key, whole: encoded(view)}
	switch v := view.(type) {
	case projections.SessionView:
		if len(v.Env) > 0 {
			v.Env = map[string]string{}
			l.open, l.owner = encoded(v), key.ID
		}
	case projections.InputView:
		if v.Answer != "" {
			v.Answer = ""
			l.open, l.owner, l.mail = encoded(v), v.SessionID, true
		}
	}
	l.place(s, key)
	l.concerns.add(objectOf(s, key))
	for _, change := range changes {
		if change.Kind == key.Kind && change.ID == key.ID {
			l.concerned.add(change.Before)
		}
	}
	return l
}

func liveEntry(s *projections.State, change projections.Change, entry *projections.Entry) liveChange {
	l := liveChange{
		ViewKey: projections.ViewKey{Kind: change.Kind, ID: change.ID},
		whole:   encoded(entry.View()),
	}
	if entry.IsMail() && entry.Message != "" {
		hidden := *entry
		hidden.Message, hidden.Blob = "", ""
		l.open, l.owner, l.mail = encoded(hidden.View()), entry.SessionID, true
	}
	l.place(s, l.ViewKey)
	l.concerns.add(entry)
	return l
}

// place notes the project of an object.
func (l *liveChange) place(s *projections.State, key projections.ViewKey) {
	switch key.Kind {
	case projections.KindProject:
		l.project = key.ID
	case projections.KindTask, projections.KindTaskTimeline:
		l.project = s.TaskProject(key.ID)
	case projections.KindSession, projections.KindSessionTimeline:
		l.project = s.SessionProject(key.ID)
	case projections.KindQueue, projections.KindQueueItem:
		l.project, _, _ = strings.Cut(key.ID, "/")
	case projections.KindInput:
		if x := s.Input(key.ID); x != nil {
			l.project, l.input = x.ProjectID, x
		}
	case projections.KindTemplate:
		l.every = true
	case projections.KindToken: // of no project
	}
}

// objectOf returns the object of a view as the state has it; nil for those that are about no session and no task.
func objectOf(s *projections.State, key projections.ViewKey) any {
	switch key.Kind { //nolint:exhaustive // the others are about neither
	case projections.KindTask:
		return s.TaskEver(key.ID)
	case projections.KindSession:
		return s.SessionEver(key.ID)
	case projections.KindInput:
		return s.Input(key.ID)
	case projections.KindQueueItem:
		if project, rest, ok := strings.Cut(key.ID, "/"); ok {
			queue, task, _ := strings.Cut(rest, "/")
			return s.Item(project, queue, task)
		}
	}
	return nil
}

// add adds what an object is about.
func (l *liveAbout) add(object any) {
	switch x := object.(type) {
	case *projections.Task:
		if x != nil {
			l.tasks = append(l.tasks, x.ID)
			l.sessions = append(l.sessions, x.SessionIDs...)
			for _, said := range x.AllSays() {
				l.sessions = append(l.sessions, said.SessionID)
			}
		}
	case *projections.Session:
		if x != nil {
			l.sessions = append(l.sessions, x.ID)
			l.tasks = append(l.tasks, x.TaskIDs...)
		}
	case *projections.Item:
		if x != nil {
			l.tasks = append(l.tasks, x.TaskID)
			l.sessions = append(l.sessions, x.SessionID)
		}
	case *projections.Input:
		if x != nil {
			l.sessions = append(l.sessions, x.SessionID)
			l.tasks = append(l.tasks, x.TaskIDs...)
		}
	case *projections.Entry:
		l.sessions = append(l.sessions, x.SessionID)
		l.tasks = append(l.tasks, x.TaskID)
	}
}

// encoded returns a view as JSON. The views are our own types, and can be encoded.
func encoded(view any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(view); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// passes reports whether a filter selects a change; left says that it selected the object before the event only.
func (f *WatchFilter) passes(l *liveChange) (passes, left bool) {
	if f.Project != "" && l.project != f.Project || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, l.Kind) {
		return false, false
	}
	now, before := f.selects(&l.concerns), f.selects(&l.concerned)
	return now || before, !now
}

func (f *WatchFilter) selects(x *liveAbout) bool {
	return (f.Session == "" || slices.Contains(x.sessions, f.Session)) &&
		(f.Task == "" || slices.Contains(x.tasks, f.Task))
}

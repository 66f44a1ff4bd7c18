package service

import (
	"bytes"
	"encoding/json"
	"slices"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// liveFrame is an event with the views that it changed, encoded once for all readers. Immutable.
type liveFrame struct {
	Position

	event *events.Event
	// by is the session that the event is from, "" for others.
	by string
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
	concerns, concerned projections.About
	// whole is the value as JSON, null if the object is gone. If it holds what only some may see, open is the value
	// without that, and owner the session that it belongs to.
	whole, open []byte
	owner       string
	// input is the question that this shows; nil for other objects. Only some may see it.
	input *projections.Input
	// mail says that what open lacks is for readers of the owner's mail; otherwise it is the owner's environment.
	mail bool
}

// frameOf encodes the newest event of a state. The views are those that the index names.
func frameOf(s *projections.State, x *projections.ViewIndex, c *engine.Commit, of templateViews) *liveFrame {
	f := &liveFrame{Position: positionOf(c.Sequence, c.Body), event: c.Event, text: c.Text}
	f.size = len(c.Text)
	_, f.by, _ = projections.SessionOfSource(c.Event.Source)
	for _, key := range x.Changed(s, c.Changes) {
		f.add(liveView(s, x, key, c.Changes, of))
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

// templateViews returns what the list of templates shows of one; false if there is none.
type templateViews func(s *projections.State, id string) (wire.Template, bool)

// liveView encodes a view. changes are those of the event, whose values before it say whom else it was about.
func liveView(
	s *projections.State, x *projections.ViewIndex, key projections.ViewKey, changes []projections.Change,
	of templateViews,
) liveChange {
	view := x.View(s, key)
	if t, ok := view.(*projections.Template); ok {
		view, _ = of(s, t.ID)
	}
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
	l.concerns.AddFrom(s, s.Object(key))
	for _, change := range changes {
		if change.Kind == key.Kind && change.ID == key.ID {
			l.concerned.AddFrom(s, change.Before)
		}
	}
	return l
}

func liveEntry(s *projections.State, change projections.Change, entry *projections.Entry) liveChange {
	l := liveChange{
		ViewKey: projections.ViewKey{Kind: change.Kind, ID: change.ID},
		whole:   encoded(s.EntryView(entry)),
	}
	if entry.IsMail() && entry.Message != "" {
		hidden := *entry
		hidden.Message, hidden.Blob = "", ""
		l.open, l.owner, l.mail = encoded(s.EntryView(&hidden)), entry.SessionID, true
	}
	l.place(s, l.ViewKey)
	l.concerns.AddFrom(s, entry)
	return l
}

// place notes the project of an object.
func (l *liveChange) place(s *projections.State, key projections.ViewKey) {
	l.project = s.ProjectOf(key)
	l.every = key.Kind == projections.KindTemplate
	if key.Kind == projections.KindInput {
		l.input = s.Input(key.ID)
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
	now, before := l.concerns.Has(f.Session, f.Task), l.concerned.Has(f.Session, f.Task)
	return now || before, !now
}

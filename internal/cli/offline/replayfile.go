package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/syntax"
	"maestro/projections"
	"maestro/service/wire"
)

// fileHistory is the log in an exported file, which is folded once, from its beginning.
type fileHistory struct {
	*cli.Run
	*foldedLog

	// redacted are the texts that the log says were removed.
	redacted redactions
	// index finds the views that an event changed. It is nil until views are read.
	index *projections.ViewIndex
}

func (h *fileHistory) head(context.Context) (uint64, bool) { return h.state.Head().Sequence, h.whole }

// step folds the next event, and keeps the index.
func (h *fileHistory) step(until moment) (keys []projections.ViewKey, more bool, err error) {
	if more, err = h.next(until); more && h.index != nil {
		keys = h.index.Changed(h.state, h.changes)
	}
	if own := (*failure.Error)(nil); err != nil && !errors.As(err, &own) {
		err = cli.Unreadable(h.file, err)
	}
	return keys, more, err
}

// to folds the log up to a moment.
func (h *fileHistory) to(m moment) error {
	if !m.time.IsZero() && m.time.After(h.Wall()) {
		return failure.Usage("%s is in the future", m.text()).WithNext("name a moment up to now, or an event")
	}
	for {
		if _, more, err := h.step(m); err != nil || !more {
			if head := h.state.Head().Sequence; err == nil && m.sequence > head {
				return &notYetError{head}
			}
			return err
		}
	}
}

// errBackwards says that a moment is before the one that was read last.
var errBackwards = errors.New("a file is read only forwards")

func (h *fileHistory) at(_ context.Context, _ subject, m moment) (*past, error) {
	p := newPast()
	if !m.beginning {
		if err := h.to(m); err != nil {
			return nil, err
		}
		if m.before(h.state.Head().Sequence, h.state.At()) {
			return nil, errBackwards
		}
	}
	if h.index == nil {
		h.index = projections.NewViewIndex(h.state)
	}
	if p.Sequence = h.state.Head().Sequence; p.Sequence > 0 {
		p.Time = cli.Instant(events.Millis(h.state.At().UnixMilli()))
	}
	for key := range h.index.Keys(h.state) {
		if view := h.view(key); view != nil {
			p.add(key, view)
		}
	}
	return p, nil
}

// view returns a view; nil if there is none, or if no read of a moment shows its kind.
func (h *fileHistory) view(key projections.ViewKey) any {
	switch key.Kind { //nolint:exhaustive // the others are as the state has them
	case projections.KindToken, projections.KindWebhook:
		return nil
	case projections.KindTemplate:
		t := h.state.Template(key.ID)
		if t == nil {
			return nil
		}
		return wire.Template{
			ID:        t.ID,
			Name:      t.Name,
			Role:      t.Role,
			Content:   t.Content,
			CreatedAt: events.Millis(t.CreatedAt),
			UpdatedAt: events.Millis(t.UpdatedAt),
			Version:   t.Version,
		}
	}
	return h.index.View(h.state, key)
}

func (h *fileHistory) frames(
	_ context.Context, of subject, until moment, each func(wire.LiveFrame) error,
) error {
	if h.index == nil {
		h.index = projections.NewViewIndex(h.state)
	}
	for {
		keys, more, err := h.step(until)
		if err != nil || !more {
			return err
		}
		if frame, about := h.frame(of.filter(), keys); about {
			if err := each(frame); err != nil {
				return err
			}
		}
	}
}

// frame returns the newest event with the views that it changed, as the live views show it to whoever filters them;
// false if that is nothing.
func (h *fileHistory) frame(filter wire.LiveFilter, keys []projections.ViewKey) (wire.LiveFrame, bool) {
	frame := wire.LiveFrame{
		Seq:      h.line.Sequence,
		Event:    bytes.Clone(h.line.Body()),
		Redacted: h.redacted.in(events.Digests(h.event.Data)),
	}
	inProject := func(key projections.ViewKey) bool {
		return filter.ProjectID == "" || h.state.ProjectOf(key) == filter.ProjectID
	}
	for _, key := range keys {
		var now, before projections.About
		now.AddFrom(h.state, h.state.Object(key))
		for _, change := range h.changes {
			if change.Kind == key.Kind && change.ID == key.ID {
				before.AddFrom(h.state, change.Before)
			}
		}
		is, was := now.Has(filter.Session, filter.Task), before.Has(filter.Session, filter.Task)
		if !inProject(key) || !is && !was {
			continue
		}
		view := wire.LiveView{Kind: string(key.Kind), ID: key.ID, Value: json.RawMessage("null")}
		if x := h.view(key); is && x != nil {
			view.Value = encoded(x)
		}
		frame.Changes = append(frame.Changes, view)
	}
	about := len(frame.Changes) > 0
	for _, change := range h.changes { // an entry of a timeline is about it too
		if _, ok := change.After.(*projections.Entry); !ok {
			continue
		}
		of := h.state.ChangeAbout(change)
		if of.Has(filter.Session, filter.Task) && inProject(projections.ViewKey{Kind: change.Kind, ID: change.ID}) {
			about = true
			frame.Changes = append(frame.Changes, wire.LiveView{Kind: string(change.Kind), ID: change.ID})
		}
	}
	_, by, _ := projections.SessionOfSource(h.event.Source)
	whole := filter.Task == "" && (filter.ProjectID == "" || h.event.Project == filter.ProjectID) &&
		(filter.Session == "" || by == filter.Session)
	return frame, whole || about
}

func (h *fileHistory) show(_ context.Context, of subject, m moment) error {
	if err := h.to(m); err != nil {
		return err
	}
	s := h.state
	switch of.kind { //nolint:exhaustive // the others have no timeline
	case projections.KindTask:
		if t := s.Task(of.id); t != nil {
			view := s.TaskView(t)
			ids := append([]string{view.SaidBy}, slices.Concat(view.SessionIDs, view.Dependencies)...)
			if view.ParentID != nil {
				ids = append(ids, *view.ParentID)
			}
			view.Names = h.names(ids)
			cli.ShowTask(h.Run, view)
			return nil
		}
	case projections.KindSession:
		if x := s.Session(of.id); x != nil {
			view := s.SessionView(x)
			view.Names = h.names(append([]string{view.SpawnedBy, view.Item}, view.TaskIDs...))
			cli.ShowSession(h.Run, view)
			return nil
		}
	case projections.KindProject:
		if p := s.Project(of.id); p != nil {
			cli.ShowProject(h.Run, s.ProjectView(p))
			return nil
		}
	case projections.KindQueue:
		project, name, _ := strings.Cut(of.id, "/")
		if q := s.Queue(project, name); q != nil && !q.Deleted {
			items := []wire.Item{}
			for _, item := range s.Items(q) {
				items = append(items, s.ItemView(q, item))
			}
			cli.ShowItems(h.Run, items)
			return nil
		}
	}
	return notThere(of, "it did not exist at "+m.text())
}

// names returns the names of sessions and the titles of tasks, by id.
func (h *fileHistory) names(ids []string) map[string]string {
	names := map[string]string{}
	for _, id := range ids {
		if x := h.state.SessionEver(id); x != nil {
			names[id] = x.Name
		}
		if t := h.state.TaskEver(id); t != nil {
			names[id] = t.Title
		}
	}
	return names
}

// frameIn decodes a frame, and the time of its event.
func frameIn(data []byte) (frame wire.LiveFrame, at time.Time, err error) {
	if err = json.Unmarshal(data, &frame); err != nil {
		return frame, at, syntax.Plain(err)
	}
	if frame.Event == nil {
		return frame, at, nil
	}
	var of struct {
		Time time.Time `json:"time"`
	}
	err = json.Unmarshal(frame.Event, &of)
	return frame, of.Time, err
}

package service

import (
	"strconv"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// newest returns how many of the newest are requested, 0 for all: with a cursor, limit is the length of a page.
func (v View) newest(limit string) (int, error) {
	if limit == "" || v.Caller.Paged {
		return 0, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 {
		return 0, InvalidRequest("", "limit must be a number above 0, not '"+safetext.Printable(limit)+"'")
	}
	return n, nil
}

// entries returns the entries of a timeline, oldest first, and reads them while they are written. session is that of a
// session's timeline, "" for a task's. If the caller may not read mail, entries with mail do not show its text.
func (r entryReader) entries(timeline projections.Timeline, session string, mail bool) List[projections.EntryView] {
	return List[projections.EntryView]{func(yield func(projections.EntryView) bool) {
		names := map[string]string{}
		for e := range r.each(timeline, session) {
			view := e.View()
			view.SourceName = r.nameOf(view.Source, names)
			if !mail && e.IsMail() {
				view.Message, view.Blob = e.What, ""
			}
			view.Redacted = r.redaction(view.Blob)
			if !yield(view) {
				return
			}
		}
	}}
}

// newestOf returns the newest entries of a timeline, all if limit is 0.
func newestOf(timeline projections.Timeline, limit int) projections.Timeline {
	if limit == 0 {
		return timeline
	}
	return timeline[max(0, len(timeline)-limit):]
}

// timeline returns the newest of the entries that the caller may see, oldest first. The returned function may run
// without the state. permitted says whether the caller may read the mail on the timeline.
func (v View) timeline(
	in *wire.TimelineOf, session string, permitted func(id string) (projections.Timeline, bool, error),
) (func() List[projections.EntryView], error) {
	limit, err := v.newest(in.Limit)
	if err != nil {
		return nil, err
	}
	timeline, mail, err := permitted(in.ID)
	if err != nil {
		return nil, err
	}
	reader := v.entryReader()
	return func() List[projections.EntryView] {
		return reader.entries(newestOf(timeline, limit), session, mail)
	}, nil
}

// GetSessionTimeline returns everything that a session did, as timeline does.
func (v View) GetSessionTimeline(in *wire.TimelineOf) (func() List[projections.EntryView], error) {
	return v.timeline(in, in.ID, func(id string) (projections.Timeline, bool, error) {
		x, err := v.PermitSession("session:info", id)
		if err != nil {
			return projections.Timeline{}, false, err
		}
		return v.SessionTimeline(x.ID), v.Caller.readsMail(x), nil
	})
}

// GetTaskTimeline returns everything that happened to a task, as timeline does.
func (v View) GetTaskTimeline(in *wire.TimelineOf) (func() List[projections.EntryView], error) {
	return v.timeline(in, "", func(id string) (projections.Timeline, bool, error) {
		t, err := v.PermitTask("task:get", id)
		if err != nil {
			return projections.Timeline{}, false, err
		}
		return v.TaskTimeline(t.ID), v.Caller.By.Kind != commands.ActorSession, nil
	})
}

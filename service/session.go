package service

import (
	"slices"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// newestLooked is how far back the newest entries of a timeline are looked for.
const newestLooked = 1000

// PermitSession gives a session that the caller may see by a row of the table.
func (v View) PermitSession(row, id string) (*projections.Session, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if err := v.Own(row, id == v.Caller.By.Name); err != nil {
		return nil, err
	}
	x := v.Session(id)
	if x == nil {
		return nil, NotFound("Session", id)
	}
	return x, v.Permit(row, x.ProjectID)
}

// ShownSession is what is needed to show a session once the state moves again.
type ShownSession struct {
	Session  *projections.Session
	Timeline projections.Timeline
}

// Shown gives what is needed to show a session once the state moves again.
func (v View) Shown(x *projections.Session) ShownSession {
	return ShownSession{x, v.SessionTimeline(x.ID)}
}

// SeenBy shows the session as a caller sees it.
func (x ShownSession) SeenBy(c *Caller) wire.Session {
	view := x.Session.View()
	if !c.SeesEnv(x.Session) {
		view.Env = map[string]string{}
	}
	return view
}

// Entries shows at most limit entries with words, or the bare ones without, oldest first; all if limit is 0.
func (x ShownSession) Entries(limit int, bare bool) List[wire.Entry] {
	timeline := x.Timeline
	if limit > 0 && len(timeline) > newestLooked {
		timeline = timeline[len(timeline)-newestLooked:]
	}
	return entriesOf(timeline, limit, func(e *projections.Entry) bool { return e.Bare == bare })
}

// ListSessions gives the sessions that the caller may see, in order of creation. The function that it returns may be
// called when the state has moved.
func (v View) ListSessions(in *wire.SessionFilter) (func() List[ShownSession], error) {
	projects, err := v.PermitProjects("session:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	var found []ShownSession
	for _, p := range projects {
		part := asked.part()
		for _, id := range v.SessionIDsFrom(p.ID, part.from) {
			x := v.Session(id)
			if x == nil || !sessionMatches(in, x) {
				continue
			}
			if found = append(found, v.Shown(x)); part.full(x.StartedAt) {
				break
			}
		}
	}
	return func() List[ShownSession] {
		slices.SortStableFunc(found,
			func(a, b ShownSession) int { return int(a.Session.StartedAt - b.Session.StartedAt) })
		return List[ShownSession]{func(yield func(ShownSession) bool) {
			for _, x := range found {
				if in.Brief == "true" {
					x.Timeline = nil
				}
				if !yield(x) {
					return
				}
			}
		}}
	}, nil
}

func sessionMatches(f *wire.SessionFilter, x *projections.Session) bool {
	return (f.TaskID == "" || slices.Contains(x.TaskIDs, f.TaskID)) &&
		(f.Status == "" || f.Status == string(x.Status)) &&
		(f.Active != "true" || x.Status != events.SessionSaidDone) &&
		(f.Living != "true" || !x.Ended()) &&
		(f.SpawnedBy == "" || f.SpawnedBy == x.SpawnedBy)
}

// GetSession gives a session. What it returns may be shown when the state has moved.
func (v View) GetSession(in *wire.SessionID) (ShownSession, error) {
	x, err := v.PermitSession("session:info", in.ID)
	if err != nil {
		return ShownSession{}, err
	}
	return v.Shown(x), nil
}

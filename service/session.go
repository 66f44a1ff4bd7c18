package service

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// newestLooked is how far back the newest entries of a timeline are looked for.
const newestLooked = 1000

// SessionBody shows a session as older clients know it, with more members.
type SessionBody struct {
	projections.SessionView
	Hostname string                      `json:"hostname"`
	Platform string                      `json:"platform"`
	Events   List[wire.SessionEvent]     `json:"events"`
	Timeline List[projections.EntryView] `json:"timeline"`
}

// spawnedMetadata is the metadata that older clients find on a spawned session.
type spawnedMetadata struct {
	Skills      []string        `json:"skills"`
	SpawnedBy   *string         `json:"spawnedBy"`
	SpawnSource string          `json:"spawnSource"`
	Role        events.Role     `json:"role"`
	Strategy    events.Strategy `json:"strategy"`
	Context     json.RawMessage `json:"context"`
}

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
	session  *projections.Session
	timeline projections.Timeline
}

// Shown gives what is needed to show a session once the state moves again.
func (v View) Shown(x *projections.Session) ShownSession {
	return ShownSession{x, v.SessionTimeline(x.ID)}
}

// Body shows the session with at most limit entries of either sort; all if limit is 0.
func (x ShownSession) Body(s *Service, c *Caller, limit int) SessionBody {
	view := x.session.View()
	if !c.SeesEnv(x.session) {
		view.Env = map[string]string{}
	}
	if x.session.Spawned {
		view.Metadata, view.Env = s.spawnedExtras(x.session, view.Env, c.ServerURL)
	}
	timeline := x.timeline
	if limit > 0 && len(timeline) > newestLooked {
		timeline = timeline[len(timeline)-newestLooked:]
	}
	bare := entriesOf(timeline, limit, func(e *projections.Entry) bool { return e.Bare })
	return SessionBody{
		SessionView: view,
		Hostname:    s.Hostname,
		Platform:    s.Platform,
		Events:      List[wire.SessionEvent]{eventsOf(bare)},
		Timeline:    entriesOf(timeline, limit, func(e *projections.Entry) bool { return !e.Bare }),
	}
}

// eventsOf shows entries without words as older clients know them.
func eventsOf(bare List[projections.EntryView]) iter.Seq[wire.SessionEvent] {
	return func(yield func(wire.SessionEvent) bool) {
		for e := range bare.Items {
			if string(e.Data) == "null" {
				e.Data = nil
			}
			event := wire.SessionEvent{
				ID:        e.ID,
				Timestamp: e.Timestamp,
				Type:      e.Type,
				Data:      e.Data,
				Sequence:  e.Sequence,
				TaskID:    e.TaskID,
			}
			if !yield(event) {
				return
			}
		}
	}
}

// spawnedExtras gives what older clients expect of a spawned session and the log need not say: its metadata, and what
// it is told of itself beside the environment that is shown.
func (s *Service) spawnedExtras(x *projections.Session, shown map[string]string, url string) (json.RawMessage,
	map[string]string,
) {
	metadata := spawnedMetadata{
		Skills:      x.Skills,
		SpawnSource: "ui",
		Role:        x.Role,
		Strategy:    x.Strategy,
		Context:     x.Context,
	}
	if metadata.Skills == nil {
		metadata.Skills = []string{}
	}
	if len(metadata.Context) == 0 {
		metadata.Context = json.RawMessage("{}")
	}
	if x.SpawnedBy != "" {
		metadata.SpawnSource, metadata.SpawnedBy = "session", &x.SpawnedBy
	}
	env := map[string]string{
		"MAESTRO_SESSION_ID": x.ID,
		"MAESTRO_SERVER_URL": url,
		"MAESTRO_STRATEGY":   string(x.Strategy),
		"MAESTRO_PROJECT_ID": x.ProjectID,
	}
	if s.Manifests != nil && x.ManifestDigest != "" {
		env["MAESTRO_MANIFEST_PATH"] = s.Manifests.Path(x.ID)
	}
	maps.Copy(env, shown)
	encoded, err := json.Marshal(metadata)
	if err != nil {
		// Context was valid JSON when it was taken.
		encoded = nil
	}
	return encoded, env
}

// ListSessions gives the sessions that the caller may see, in order of creation. The function that it returns may be
// called when the state has moved.
func (v View) ListSessions(in *wire.SessionFilter) (func() List[SessionBody], error) {
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
	return func() List[SessionBody] {
		slices.SortStableFunc(found,
			func(a, b ShownSession) int { return int(a.session.StartedAt - b.session.StartedAt) })
		return List[SessionBody]{func(yield func(SessionBody) bool) {
			for _, x := range found {
				if in.Brief == "true" {
					x.timeline = nil
				}
				if !yield(x.Body(v.Service, v.Caller, 0)) {
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

// GetSession gives a session. The function that it returns may be called when the state has moved.
func (v View) GetSession(in *wire.SessionID) (func() SessionBody, error) {
	x, err := v.PermitSession("session:info", in.ID)
	if err != nil {
		return nil, err
	}
	shown := v.Shown(x)
	return func() SessionBody { return shown.Body(v.Service, v.Caller, 0) }, nil
}

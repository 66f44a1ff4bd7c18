package api

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

const (
	// newestEntries is how much of a timeline the answer to a write carries, so that its cost does not grow with
	// the history.
	newestEntries = 100
	// newestLooked is how far back it looks for them.
	newestLooked = 1000
)

type sessionID struct {
	ID string `path:"id" doc:"the session"`
}

type sessionTaskID struct {
	ID     string `path:"id" doc:"the session"`
	TaskID string `path:"taskId" doc:"the task"`
}

type sessionFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	TaskID    string `query:"taskId" doc:"that have this task"`
	Status    string `query:"status" doc:"with this status"`
	Active    string `query:"active" doc:"true: all but completed"`
	Brief     string `query:"brief" doc:"true: without timelines and events"`
}

// sessionBody shows a session as older clients know it, with more members.
type sessionBody struct {
	projections.SessionView
	Hostname string                      `json:"hostname"`
	Platform string                      `json:"platform"`
	Events   lazy[sessionEvent]          `json:"events"`
	Timeline lazy[projections.EntryView] `json:"timeline"`
}

// render implements inParts: a session may have said more than there is memory for its answers.
func (b sessionBody) render(e *encoder) error {
	head := struct {
		projections.SessionView
		Hostname string `json:"hostname"`
		Platform string `json:"platform"`
	}{b.SessionView, b.Hostname, b.Platform}
	return e.object(head, []string{"events", "timeline"}, b.Events, b.Timeline)
}

// sessionEvent is an entry without words.
type sessionEvent struct {
	ID        string          `json:"id"`
	Timestamp int64           `json:"timestamp"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data,omitempty"`
	Sequence  uint64          `json:"sequence"`
	TaskID    string          `json:"taskId,omitempty"`
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

// newSession is the body of older clients' POST.
type newSession struct {
	ID        string               `json:"id,omitempty"`
	ProjectID string               `json:"projectId"`
	TaskIDs   *[]string            `json:"taskIds"`
	TaskID    string               `json:"taskId,omitempty"`
	Name      string               `json:"name,omitempty"`
	Status    events.SessionStatus `json:"status,omitempty"`
	Strategy  events.Strategy      `json:"strategy,omitempty"`
	Env       map[string]string    `json:"env,omitempty"`
	Metadata  json.RawMessage      `json:"metadata,omitempty"`
	AgentID   string               `json:"agentId,omitempty"`
}

func (s *server) sessionRoutes() {
	readThen(s, op{
		path:    "/api/sessions",
		name:    "session-list",
		summary: "The sessions that the caller may see, in order of creation",
	}, listSessions)
	readThen(s, op{path: "/api/sessions/{id}", name: "session-info", summary: "A session"}, getSession)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions",
		name:    "session-create",
		summary: "Make a session that nobody spawned",
		status:  http.StatusCreated,
		body:    newSession{},
		row:     "session:register",
	}, s.createSession)
	write(s, op{
		method:  http.MethodPatch,
		path:    "/api/sessions/{id}",
		name:    "session-update",
		summary: "Give fields of a session new values",
		body:    sessionPatch{},
	}, s.patchSession)
	write(s, op{
		method:  http.MethodDelete,
		path:    "/api/sessions/{id}",
		name:    "session-delete",
		summary: "Delete a session",
	}, s.deleteSession)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/tasks/{taskId}",
		name:    "session-link",
		summary: "Make a task one of a session's",
	}, s.linkTask)
	write(s, op{
		method:  http.MethodDelete,
		path:    "/api/sessions/{id}/tasks/{taskId}",
		name:    "session-unlink",
		summary: "Take a task from a session",
	}, s.unlinkTask)
}

// session gives a session that the caller may see by a row of the table.
func (v view) session(row, id string) (*projections.Session, error) {
	if err := v.permit(row, ""); err != nil {
		return nil, err
	}
	if err := v.own(row, id == v.call.by.Name); err != nil {
		return nil, err
	}
	x := v.Session(id)
	if x == nil {
		return nil, notFound("Session", id)
	}
	return x, v.permit(row, x.ProjectID)
}

// shownSession is what is needed to show a session once the state moves again.
type shownSession struct {
	session  *projections.Session
	timeline projections.Timeline
}

func (v view) shown(x *projections.Session) shownSession {
	return shownSession{x, v.SessionTimeline(x.ID)}
}

// body shows the session with at most limit entries of either sort; all if limit is 0.
func (x shownSession) body(s *server, c *call, limit int) sessionBody {
	view := x.session.View()
	if !c.seesEnv(x.session) {
		view.Env = map[string]string{}
	}
	if x.session.Spawned {
		view.Metadata, view.Env = s.spawnedExtras(x.session, view.Env, c.url())
	}
	timeline := x.timeline
	if limit > 0 && len(timeline) > newestLooked {
		timeline = timeline[len(timeline)-newestLooked:]
	}
	bare := entries(timeline, limit, func(e *projections.Entry) bool { return e.Bare })
	return sessionBody{
		SessionView: view, Hostname: s.Hostname, Platform: s.Platform, Events: lazy[sessionEvent]{eventsOf(bare)},
		Timeline: entries(timeline, limit, func(e *projections.Entry) bool { return !e.Bare }),
	}
}

// eventsOf shows entries without words as older clients know them.
func eventsOf(bare lazy[projections.EntryView]) iter.Seq[sessionEvent] {
	return func(yield func(sessionEvent) bool) {
		for e := range bare.items {
			if string(e.Data) == "null" {
				e.Data = nil
			}
			if !yield(sessionEvent{e.ID, e.Timestamp, e.Type, e.Data, e.Sequence, e.TaskID}) {
				return
			}
		}
	}
}

// spawnedExtras gives what older clients expect of a spawned session and the log need not say: its metadata, and what
// it is told of itself beside the environment that is shown.
func (s *server) spawnedExtras(x *projections.Session, shown map[string]string, url string) (json.RawMessage,
	map[string]string,
) {
	metadata := spawnedMetadata{
		Skills: x.Skills, SpawnSource: "ui", Role: x.Role, Strategy: x.Strategy, Context: x.Context,
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

// url is how the caller reaches the server.
func (c *call) url() string { return schemeOf(c.request) + "://" + c.request.Host }

func listSessions(v view, in *sessionFilter) (func() lazy[sessionBody], error) {
	projects, err := v.projects("session:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	var found []shownSession
	for _, p := range projects {
		for x := range v.Sessions(p.ID) {
			if in.matches(x) {
				found = append(found, v.shown(x))
			}
		}
	}
	return func() lazy[sessionBody] {
		slices.SortStableFunc(found,
			func(a, b shownSession) int { return int(a.session.StartedAt - b.session.StartedAt) })
		return lazy[sessionBody]{func(yield func(sessionBody) bool) {
			for _, x := range found {
				if in.Brief == "true" {
					x.timeline = nil
				}
				if !yield(x.body(v.server, v.call, 0)) {
					return
				}
			}
		}}
	}, nil
}

func (f *sessionFilter) matches(x *projections.Session) bool {
	return (f.TaskID == "" || slices.Contains(x.TaskIDs, f.TaskID)) &&
		(f.Status == "" || f.Status == string(x.Status)) &&
		(f.Active != "true" || x.Status != events.SessionSaidDone)
}

func getSession(v view, in *sessionID) (func() sessionBody, error) {
	x, err := v.session("session:info", in.ID)
	if err != nil {
		return nil, err
	}
	shown := v.shown(x)
	return func() sessionBody { return shown.body(v.server, v.call, 0) }, nil
}

func (s *server) createSession(ctx context.Context, c *call, _ *struct{}) (sessionBody, error) {
	var body newSession
	if err := c.decode(&body); err != nil {
		return sessionBody{}, err
	}
	if body.TaskIDs == nil && body.TaskID == "" {
		return sessionBody{}, routeInvalid("/taskIds", "taskIds is required")
	}
	if body.ProjectID == "" {
		return sessionBody{}, routeInvalid("/projectId", "Project ID is required")
	}
	register := &commands.RegisterSession{
		In:        commands.In{Project: body.ProjectID},
		SessionID: body.ID,
		Create:    true,
		Name:      body.Name,
		Strategy:  body.Strategy,
		Status:    body.Status,
		Env:       body.Env,
		Metadata:  given(body.Metadata),
		AgentID:   body.AgentID,
	}
	if body.TaskIDs != nil {
		register.TaskIDs = *body.TaskIDs
	} else {
		register.TaskIDs = []string{body.TaskID}
	}
	if register.Status == "" {
		register.Status = events.SessionIdle
	}
	var err error
	if register.Role, err = roleOf(register.Metadata); err != nil {
		return sessionBody{}, err
	}
	answer, err := s.do(ctx, c, c.by, register, "")
	if err != nil {
		return sessionBody{}, err
	}
	created, ok := answer.Data.(*events.SessionRegistered)
	if !ok {
		return sessionBody{}, unexpected("session:register", answer)
	}
	return s.showSession(c, created.SessionID)
}

// given gives a value that a body has, nil for null.
func given(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	return raw
}

// roleOf gives the role that older clients put into the metadata.
func roleOf(metadata json.RawMessage) (events.Role, error) {
	if len(metadata) == 0 {
		return "", nil
	}
	var says struct {
		Role events.Role `json:"role"`
	}
	if err := json.Unmarshal(metadata, &says); err != nil {
		return "", invalid("/metadata", "metadata must be an object, and its role a text")
	}
	return says.Role, nil
}

func (s *server) deleteSession(ctx context.Context, c *call, in *sessionID) (deleted, error) {
	_, err := s.do(ctx, c, c.by, &commands.DeleteSession{SessionID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

func (s *server) linkTask(ctx context.Context, c *call, in *sessionTaskID) (sessionBody, error) {
	if _, err := s.do(ctx, c, c.by, &commands.LinkTask{SessionID: in.ID, TaskID: in.TaskID}, ""); err != nil {
		return sessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *server) unlinkTask(ctx context.Context, c *call, in *sessionTaskID) (sessionBody, error) {
	if _, err := s.do(ctx, c, c.by, &commands.UnlinkTask{SessionID: in.ID, TaskID: in.TaskID}, ""); err != nil {
		return sessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

// showSession is what a write answers: with the newest entries only.
func (s *server) showSession(c *call, id string) (sessionBody, error) {
	var shown shownSession
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(id); x != nil {
			shown = shownSession{x, state.SessionTimeline(id)}
		}
	})
	if shown.session == nil {
		return sessionBody{}, notFound("Session", id)
	}
	return shown.body(s, c, newestEntries), nil
}

package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) sessionRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions",
		Name:    "session-create",
		Summary: "Register a session that nobody spawned",
		Status:  http.StatusCreated,
		Body:    newSession{},
	}, row: "session:register"}, s.createSession)
	write(s, op{Route: route.Route{
		Method:  http.MethodPatch,
		Path:    "/api/sessions/{id}",
		Name:    "session-update",
		Summary: "Update a session",
		Body:    sessionPatch{},
	}}, s.patchSession)
	write(s, op{Route: route.Route{
		Method:  http.MethodDelete,
		Path:    "/api/sessions/{id}",
		Name:    "session-delete",
		Summary: "Delete a session",
	}}, s.deleteSession)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/tasks/{taskId}",
		Name:    "session-link",
		Summary: "Link a task to a session",
	}}, s.linkTask)
	write(s, op{Route: route.Route{
		Method:  http.MethodDelete,
		Path:    "/api/sessions/{id}/tasks/{taskId}",
		Name:    "session-unlink",
		Summary: "Unlink a task from a session",
	}}, s.unlinkTask)
}

type sessionTaskID struct {
	ID     string `path:"id" doc:"the session"`
	TaskID string `path:"taskId" doc:"the task"`
}

// newSession is the body of POST.
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

func (s *compat) createSession(ctx context.Context, c *call, _ *struct{}) (SessionBody, error) {
	var body newSession
	if err := c.decode(ctx, &body); err != nil {
		return SessionBody{}, err
	}
	if body.TaskIDs == nil && body.TaskID == "" {
		return SessionBody{}, service.InvalidRequest("/taskIds", "taskIds is required")
	}
	if body.ProjectID == "" {
		return SessionBody{}, service.InvalidRequest("/projectId", "Project ID is required")
	}
	register := &commands.RegisterSession{
		ProjectRef: commands.ProjectRef{Project: body.ProjectID},
		SessionID:  body.ID,
		Create:     true,
		Force:      true, // older clients start work in any order
		Name:       body.Name,
		Strategy:   body.Strategy,
		Status:     body.Status,
		Env:        body.Env,
		Metadata:   given(body.Metadata),
		AgentID:    body.AgentID,
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
		return SessionBody{}, err
	}
	return s.register(ctx, c, register)
}

// register creates a session. One whose status says that its work is over is created idle, and then brought to it.
func (s *compat) register(ctx context.Context, c *call, register *commands.RegisterSession) (SessionBody, error) {
	over, suffix := register.Status, ""
	switch over {
	case events.SessionSaidDone, events.SessionStopped, events.SessionEndFailed:
		last, err := statusCommand(register.SessionID, &over)
		if err != nil {
			return SessionBody{}, err
		}
		register.Status, suffix = events.SessionIdle, "/1"
		if err := s.payAll(ctx, c, c.By, register.Project, []step{{register, ""}, {last, ""}}); err != nil {
			return SessionBody{}, err
		}
	default:
		over = ""
	}
	answer, err := s.do(ctx, c, c.By, register, suffix)
	if err != nil {
		return SessionBody{}, err
	}
	created, ok := answer.Data.(*events.SessionRegistered)
	if !ok {
		return SessionBody{}, unexpected("session:register", answer)
	}
	if over != "" {
		last, err := statusCommand(created.SessionID, &over)
		if err != nil {
			return SessionBody{}, err
		}
		if _, err := s.do(ctx, c, c.By, last, "/2"); err != nil {
			return SessionBody{}, err
		}
	}
	return s.showOwnSession(c, created.SessionID)
}

// given returns the raw value of a body, nil for null.
func given(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	return raw
}

// roleOf returns the role that older clients put into the metadata.
func roleOf(metadata json.RawMessage) (events.Role, error) {
	if len(metadata) == 0 {
		return "", nil
	}
	var says struct {
		Role events.Role `json:"role"`
	}
	if err := json.Unmarshal(metadata, &says); err != nil {
		return "", service.Invalid("/metadata", "metadata must be an object, and its role a text")
	}
	return says.Role, nil
}

func (s *compat) deleteSession(ctx context.Context, c *call, in *wire.SessionID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteSession{SessionID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

func (s *compat) linkTask(ctx context.Context, c *call, in *sessionTaskID) (SessionBody, error) {
	link := &commands.LinkTask{SessionID: in.ID, TaskID: in.TaskID, Force: true}
	if _, err := s.do(ctx, c, c.By, link, ""); err != nil {
		return SessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *compat) unlinkTask(ctx context.Context, c *call, in *sessionTaskID) (SessionBody, error) {
	if _, err := s.do(ctx, c, c.By, &commands.UnlinkTask{SessionID: in.ID, TaskID: in.TaskID}, ""); err != nil {
		return SessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

// newestEntries is how many timeline entries the answer to a write has, so that its cost does not grow with the
// history.
const newestEntries = 100

// showSession is the answer to a write: the session with its newest entries, or only its id if the caller may not read
// it.
func (s *compat) showSession(c *call, id string) (SessionBody, error) {
	mayRead := s.permitted(c, func(v service.View) error {
		if id == c.By.Name {
			return nil
		}
		_, err := v.PermitSession("session:info", id)
		return err
	})
	if !mayRead {
		return SessionBody{
			SessionHead: SessionHead{Session: wire.Session{ID: id}},
			Events:      service.List[SessionEvent]{Items: slices.Values([]SessionEvent{})},
			Timeline:    service.List[wire.Entry]{Items: slices.Values([]wire.Entry{})},
		}, nil
	}
	return s.showOwnSession(c, id)
}

// showOwnSession is the answer to the creation of a session.
func (s *compat) showOwnSession(c *call, id string) (SessionBody, error) {
	var shown service.ShownSession
	var found bool
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(id); x != nil {
			shown, found = s.At(state, c.Caller).Shown(x), true
		}
	})
	if !found {
		return SessionBody{}, service.NotFound("Session", id)
	}
	return s.body(shown, c.Caller, newestEntries), nil
}

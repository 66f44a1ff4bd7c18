package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"maestro/commands"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

type sessionTaskID struct {
	ID     string `path:"id" doc:"the session"`
	TaskID string `path:"taskId" doc:"the task"`
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
	}, service.View.ListSessions)
	readThen(s, op{path: "/api/sessions/{id}", name: "session-info", summary: "A session"}, service.View.GetSession)
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

func (s *server) createSession(ctx context.Context, c *call, _ *struct{}) (service.SessionBody, error) {
	var body newSession
	if err := c.decode(&body); err != nil {
		return service.SessionBody{}, err
	}
	if body.TaskIDs == nil && body.TaskID == "" {
		return service.SessionBody{}, service.InvalidRequest("/taskIds", "taskIds is required")
	}
	if body.ProjectID == "" {
		return service.SessionBody{}, service.InvalidRequest("/projectId", "Project ID is required")
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
		return service.SessionBody{}, err
	}
	answer, err := s.do(ctx, c, c.By, register, "")
	if err != nil {
		return service.SessionBody{}, err
	}
	created, ok := answer.Data.(*events.SessionRegistered)
	if !ok {
		return service.SessionBody{}, unexpected("session:register", answer)
	}
	return s.ShowSession(c.Caller, created.SessionID)
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
		return "", service.Invalid("/metadata", "metadata must be an object, and its role a text")
	}
	return says.Role, nil
}

func (s *server) deleteSession(ctx context.Context, c *call, in *wire.SessionID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteSession{SessionID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

func (s *server) linkTask(ctx context.Context, c *call, in *sessionTaskID) (service.SessionBody, error) {
	if _, err := s.do(ctx, c, c.By, &commands.LinkTask{SessionID: in.ID, TaskID: in.TaskID}, ""); err != nil {
		return service.SessionBody{}, err
	}
	return s.ShowSession(c.Caller, in.ID)
}

func (s *server) unlinkTask(ctx context.Context, c *call, in *sessionTaskID) (service.SessionBody, error) {
	if _, err := s.do(ctx, c, c.By, &commands.UnlinkTask{SessionID: in.ID, TaskID: in.TaskID}, ""); err != nil {
		return service.SessionBody{}, err
	}
	return s.ShowSession(c.Caller, in.ID)
}

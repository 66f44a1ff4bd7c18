package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
)

// spawnRequest is the body of spawn.
type spawnRequest struct {
	ProjectID   string          `json:"projectId"`
	TaskIDs     []string        `json:"taskIds"`
	Role        events.Role     `json:"role,omitempty"`
	Strategy    events.Strategy `json:"strategy,omitempty"`
	SpawnSource string          `json:"spawnSource,omitempty"`
	SessionID   string          `json:"sessionId,omitempty"`
	SessionName string          `json:"sessionName,omitempty"`
	Skills      []string        `json:"skills,omitempty"`
	Context     json.RawMessage `json:"context,omitempty"`
}

// spawnAnswer is the answer to older clients, with the session's secret.
type spawnAnswer struct {
	Success      bool        `json:"success"`
	SessionID    string      `json:"sessionId"`
	ManifestPath string      `json:"manifestPath,omitempty"`
	Message      string      `json:"message"`
	Token        string      `json:"token"`
	Session      SessionBody `json:"session"`
	// Warnings are what the original does not say: that its tasks have open dependencies.
	Warnings []string `json:"warnings,omitempty"`
}

// unmetNamed bounds the open dependencies that a warning names.
const unmetNamed = 5

func (s *compat) spawnRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/spawn",
		Name:    "session-spawn",
		Summary: "Spawn a session",
		Status:  http.StatusCreated,
		Body:    spawnRequest{},
	}, row: "session:spawn"}, s.spawn)
}

func (s *compat) spawn(ctx context.Context, c *call, _ *struct{}) (spawnAnswer, error) {
	body := spawnRequest{Role: events.RoleWorker, SpawnSource: "ui"}
	if err := c.decodeSpawn(ctx, &body); err != nil {
		return spawnAnswer{}, err
	}
	// A caller that may not spawn learns nothing about what exists.
	var refused error
	s.Handler.View(func(state *projections.State) { refused = s.At(state, c.Caller).Permit("session:spawn", "") })
	if refused != nil {
		return spawnAnswer{}, refused
	}
	if err := s.checkSpawn(ctx, c, body); err != nil {
		return spawnAnswer{}, err
	}
	spawn := &commands.SpawnSession{
		Force:      true, // older clients are told of open dependencies, but not refused
		ProjectRef: commands.ProjectRef{Project: body.ProjectID},
		Name:       body.SessionName,
		Role:       body.Role,
		Strategy:   body.Strategy,
		TaskIDs:    body.TaskIDs,
		Skills:     body.Skills,
		Context:    given(body.Context),
	}
	if body.SpawnSource == "session" {
		if c.By.Kind == commands.ActorSession && c.By.Name != body.SessionID {
			return spawnAnswer{}, c.OtherIdentity(body.SessionID)
		}
		spawn.SpawnedBy = body.SessionID
	}
	answer, err := s.Do(ctx, c.Caller, service.Call{Command: spawn})
	if err != nil {
		return spawnAnswer{}, err
	}
	spawned, ok := answer.Data.(*events.SessionSpawned)
	if !ok {
		return spawnAnswer{}, unexpected("session:spawn", answer.Answer)
	}
	session, err := s.showOwnSession(c, spawned.SessionID)
	path := ""
	if s.Manifests != nil && spawned.ManifestDigest != "" {
		path = s.Manifests.ManifestPath(spawned.SessionID)
	}
	warnings := answer.Warnings
	if n := len(spawned.Unmet); n > 0 {
		named := spawned.Unmet[:min(n, unmetNamed)]
		words := "its tasks depend on open ones: " + strings.Join(named, ", ")
		if n > len(named) {
			words += fmt.Sprintf(" and %d more", n-len(named))
		}
		warnings = append(warnings, words)
	}
	return spawnAnswer{
		Success:      true,
		SessionID:    spawned.SessionID,
		ManifestPath: path,
		Message:      "Spawn request sent to Agents UI",
		Token:        answer.Token,
		Session:      session,
		Warnings:     warnings,
	}, err
}

// decodeSpawn reads the body. It has a code of its own for taskIds that are not a list.
func (c *call) decodeSpawn(ctx context.Context, body *spawnRequest) error {
	var ids struct {
		ProjectID string          `json:"projectId"`
		TaskIDs   json.RawMessage `json:"taskIds"`
	}
	if err := c.decode(ctx, &ids); err != nil {
		return err
	}
	var tasks []string
	if ids.ProjectID != "" && json.Unmarshal(ids.TaskIDs, &tasks) != nil {
		return service.NewProblem(
			service.KindInvalid,
			"invalid_task_ids",
			"/taskIds",
			"taskIds must be a non-empty array",
		)
	}
	return c.decode(ctx, body)
}

// checkSpawn makes the checks in the order, and with the codes, that older clients know.
func (s *compat) checkSpawn(ctx context.Context, c *call, body spawnRequest) error {
	bad := func(code, pointer, message string) error {
		return service.NewProblem(service.KindInvalid, code, pointer, message)
	}
	switch {
	case body.ProjectID == "":
		return bad("missing_project_id", "/projectId", "projectId is required")
	case len(body.TaskIDs) == 0:
		return bad("invalid_task_ids", "/taskIds", "taskIds must be a non-empty array")
	case body.SpawnSource != "ui" && body.SpawnSource != "session":
		return bad("invalid_spawn_source", "/spawnSource", `spawnSource must be "ui" or "session"`)
	case body.SpawnSource == "session" && body.SessionID == "":
		return bad("missing_session_id", "/sessionId", `sessionId is required when spawnSource is "session"`)
	}
	if err := s.Look(ctx, c.Caller, func(v service.View) error { return checkSpawnIn(v.State, body) }); err != nil {
		return err
	}
	if _, err := commands.ResolveStrategy(body.Role, body.Strategy); err != nil {
		return bad("invalid_strategy", "/strategy", `strategy must be "simple", "queue", or "tree"`)
	}
	return nil
}

func checkSpawnIn(state *projections.State, body spawnRequest) error {
	missing := func(code, pointer, kind, id string) *service.Problem {
		return service.NewProblem(service.KindNotFound, code, pointer, kind+" "+safetext.Printable(id)+" not found")
	}
	if body.SpawnSource == "session" && state.Session(body.SessionID) == nil {
		return missing("parent_session_not_found", "/sessionId", "Parent session", body.SessionID)
	}
	if body.Role != events.RoleWorker && body.Role != events.RoleOrchestrator {
		return service.NewProblem(
			service.KindInvalid,
			"invalid_role",
			"/role",
			`role must be "worker" or "orchestrator"`,
		)
	}
	for _, id := range body.TaskIDs {
		if state.Task(id) == nil {
			p := missing("task_not_found", "/taskIds", "Task", id)
			p.Details = map[string]string{"taskId": id}
			return p
		}
	}
	if state.Project(body.ProjectID) == nil {
		return missing("project_not_found", "/projectId", "Project", body.ProjectID)
	}
	return nil
}

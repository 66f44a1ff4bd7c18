package compat

import (
	"context"
	"net/http"
	"slices"

	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) taskRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/tasks",
		Name:    "task-create",
		Summary: "Create a task",
		Status:  http.StatusCreated,
		Body:    newTask{},
	}, row: "task:create"}, s.createTask)
	write(s, op{Route: route.Route{
		Method:  http.MethodPatch,
		Path:    "/api/tasks/{id}",
		Name:    "task-update",
		Summary: "Update a task",
		Body:    taskPatch{},
	}}, s.patchTask)
	write(s, op{Route: route.Route{
		Method:  http.MethodDelete,
		Path:    "/api/tasks/{id}",
		Name:    "task-delete",
		Summary: "Delete a task; those below it stay",
	}}, s.deleteTask)
}

// newTask is the body of POST, with the present fields of a task.
type newTask struct {
	ProjectID          string   `json:"projectId"`
	Title              string   `json:"title"`
	Description        string   `json:"description,omitempty"`
	Priority           string   `json:"priority,omitempty"`
	ParentID           string   `json:"parentId,omitempty"`
	InitialPrompt      string   `json:"initialPrompt,omitempty"`
	SkillIDs           []string `json:"skillIds,omitempty"`
	Model              string   `json:"model,omitempty"`
	Dependencies       []string `json:"dependencies,omitempty"`
	AcceptanceCriteria []string `json:"acceptanceCriteria,omitempty"`
}

// taskPatch is the body of PATCH.
type taskPatch struct {
	Title         *string                   `json:"title,omitempty"`
	Description   *string                   `json:"description,omitempty"`
	Status        *events.TaskStatus        `json:"status,omitempty"`
	Priority      *string                   `json:"priority,omitempty"`
	SessionStatus *events.TaskSessionStatus `json:"sessionStatus,omitempty"`
	SessionIDs    *[]string                 `json:"sessionIds,omitempty"`
	SkillIDs      *[]string                 `json:"skillIds,omitempty"`
	AgentIDs      *[]string                 `json:"agentIds,omitempty"`
	Model         *string                   `json:"model,omitempty"`
	UpdateSource  string                    `json:"updateSource,omitempty"`
	SessionID     string                    `json:"sessionId,omitempty"`
}

func (s *compat) createTask(ctx context.Context, c *call, _ *struct{}) (projections.TaskView, error) {
	var body newTask
	if err := c.decode(ctx, &body); err != nil {
		return projections.TaskView{}, err
	}
	if body.ProjectID == "" {
		return projections.TaskView{}, service.Invalid("/projectId", "Project ID is required")
	}
	answer, err := s.do(ctx, c, c.By, &commands.CreateTask{
		ProjectRef:         commands.ProjectRef{Project: body.ProjectID},
		Force:              body.ParentID != "", // older clients know no order of parents
		Title:              body.Title,
		Description:        body.Description,
		Priority:           body.Priority,
		ParentID:           body.ParentID,
		InitialPrompt:      body.InitialPrompt,
		SkillIDs:           body.SkillIDs,
		Model:              body.Model,
		Dependencies:       body.Dependencies,
		AcceptanceCriteria: body.AcceptanceCriteria,
	}, "")
	if err != nil {
		return projections.TaskView{}, err
	}
	created, ok := answer.Data.(*events.TaskCreated)
	if !ok {
		return projections.TaskView{}, unexpected("task:create", answer)
	}
	return s.showOwnTask(ctx, c, created.TaskID)
}

// patchTask translates a PATCH: what the user or an orchestrator changes, the sessions of the task, and what an agent

// says.
func (s *compat) patchTask(ctx context.Context, c *call, in *wire.TaskID) (projections.TaskView, error) {
	var body taskPatch
	if err := c.decode(ctx, &body); err != nil {
		return projections.TaskView{}, err
	}
	by, err := s.as(c, body.UpdateSource, body.SessionID)
	if err != nil {
		return projections.TaskView{}, err
	}
	steps, project, err := s.patchSteps(by, in.ID, body)
	if err != nil {
		return projections.TaskView{}, err
	}
	if len(steps) == 0 {
		// A session's empty PATCH changes nothing, but the session must be permitted to look.
		s.Handler.View(func(state *projections.State) {
			_, err = s.At(state, &service.Caller{By: by}).PermitTask("task:get", in.ID)
		})
	} else {
		err = s.doAll(ctx, c, by, project, steps)
	}
	if err != nil {
		return projections.TaskView{}, err
	}
	return s.showTask(ctx, c, in.ID)
}

// patchSteps returns the commands of a PATCH. Their keys depend only on the body.
func (s *compat) patchSteps(by commands.Actor, id string, body taskPatch) (steps []step, project string, err error) {
	report, err := reportOf(id, body.SessionStatus)
	if err != nil {
		return nil, "", err
	}
	if body.UpdateSource == "session" {
		if report != nil {
			steps = append(steps, step{report, ""})
		}
		return steps, "", nil
	}
	update := &commands.UpdateTask{
		Force:       true, // older clients complete parents in any order
		TaskID:      id,
		Title:       body.Title,
		Description: body.Description,
		Status:      body.Status,
		Priority:    body.Priority,
		SkillIDs:    body.SkillIDs,
		AgentIDs:    body.AgentIDs,
		Model:       body.Model,
	}
	changes := body.Title != nil || body.Description != nil || body.Status != nil || body.Priority != nil ||
		body.SkillIDs != nil || body.AgentIDs != nil || body.Model != nil
	if changes && report != nil {
		steps = append(steps, step{update, "/1"}, step{report, "/2"})
	} else if report != nil {
		steps = append(steps, step{report, ""})
	} else if changes || body.SessionIDs == nil {
		steps = append(steps, step{update, ""})
	}
	if body.SessionIDs == nil {
		return steps, "", nil
	}
	links, project, err := s.linkSteps(by, id, *body.SessionIDs)
	return append(steps, links...), project, err
}

// linkSteps sets the sessions of a task to those in a body.
func (s *compat) linkSteps(
	by commands.Actor, task string, sessions []string,
) (steps []step, project string, err error) {
	var t *projections.Task
	s.Handler.View(func(state *projections.State) {
		project = state.TaskProject(task)
		if t = state.Task(task); t == nil {
			err = service.NotFound("Task", task)
			return
		}
		err = commands.Permit(state, commands.CurrentRules(), by, "session:link", project)
	})
	if err != nil {
		return nil, "", err
	}
	for _, id := range sessions {
		if !slices.Contains(t.SessionIDs, id) {
			steps = append(steps, step{&commands.LinkTask{SessionID: id, TaskID: task, Force: true}, "/link/" + id})
		}
	}
	for _, id := range t.SessionIDs {
		if !slices.Contains(sessions, id) {
			steps = append(steps, step{&commands.UnlinkTask{SessionID: id, TaskID: task}, "/unlink/" + id})
		}
	}
	return steps, project, nil
}

// reportOf returns the report, without text, that changes a task's sessionStatus.
func reportOf(task string, says *events.TaskSessionStatus) (commands.Command, error) {
	if says == nil {
		return nil, nil
	}
	for _, kind := range []events.ReportKind{
		events.ReportProgress, events.ReportComplete, events.ReportBlocked, events.ReportError, events.ReportNeedsInput,
	} {
		if kind.SessionStatus() == *says {
			return &commands.Report{Kind: kind, TaskIDs: []string{task}}, nil
		}
	}
	return nil, service.Invalid("/sessionStatus",
		"'%s' is not a status that an agent reports; it is working, needs_input, blocked, completed or failed",
		safetext.Printable(string(*says)))
}

func (s *compat) deleteTask(ctx context.Context, c *call, in *wire.TaskID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteTask{TaskID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

// showTask is the answer to a write: the task, or only its id if the caller may not read it.
func (s *compat) showTask(ctx context.Context, c *call, id string) (projections.TaskView, error) {
	mayRead := s.permitted(c, func(v service.View) error {
		_, err := v.PermitTask("task:get", id)
		return err
	})
	if !mayRead {
		return projections.TaskView{ID: id}, nil
	}
	return s.showOwnTask(ctx, c, id)
}

// showOwnTask is the answer to the creation of a task.
func (s *compat) showOwnTask(ctx context.Context, c *call, id string) (projections.TaskView, error) {
	// A completed command is answered even if its caller has left.
	return s.ShowTask(context.WithoutCancel(ctx), c.Caller, id)
}

// permitted reports whether the caller of a write may also read.
func (s *compat) permitted(c *call, read func(v service.View) error) (may bool) {
	s.Handler.View(func(state *projections.State) { may = read(s.At(state, c.Caller)) == nil })
	return may
}

package api

import (
	"context"
	"net/http"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// projectFields is the body of older clients' POST and PUT.
type projectFields struct {
	Name        *string `json:"name,omitempty"`
	WorkingDir  *string `json:"workingDir,omitempty"`
	Description *string `json:"description,omitempty"`
}

func (s *server) projectRoutes() {
	read(s, op{
		path:    "/api/projects",
		name:    "project-list",
		summary: "The projects that the caller may see",
	}, bare(service.View.ListProjects))
	read(s, op{path: "/api/projects/{id}", name: "project-get", summary: "A project"}, service.View.GetProject)
	read(s, op{
		path:    "/api/projects/{id}/status",
		name:    "project-status",
		summary: "A project's tasks and sessions, counted by where they stand",
	}, service.View.GetProjectStatus)
	read(s, op{
		path:    "/api/projects/{id}/tree",
		name:    "project-tree",
		summary: "A project's tasks as trees",
	}, service.View.GetProjectTree)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/projects",
		name:    "project-create",
		summary: "Make a project",
		status:  http.StatusCreated,
		body:    projectFields{},
		row:     "project:create",
	}, s.createProject)
	write(s, op{
		method:  http.MethodPut,
		path:    "/api/projects/{id}",
		name:    "project-update",
		summary: "Give fields of a project new values",
		body:    projectFields{},
		row:     "project:update",
	}, s.updateProject)
	write(s, op{
		method:  http.MethodDelete,
		path:    "/api/projects/{id}",
		name:    "project-delete",
		summary: "Delete an empty project",
	}, s.deleteProject)
}

func (s *server) createProject(ctx context.Context, c *call, _ *struct{}) (projections.ProjectView, error) {
	var body projectFields
	if err := c.decode(&body); err != nil {
		return projections.ProjectView{}, err
	}
	answer, err := s.do(ctx, c, c.By, &commands.CreateProject{
		Name: orEmpty(body.Name), WorkingDir: orEmpty(body.WorkingDir), Description: orEmpty(body.Description),
	}, "")
	if err != nil {
		return projections.ProjectView{}, err
	}
	created, ok := answer.Data.(*events.ProjectCreated)
	if !ok {
		return projections.ProjectView{}, unexpected("project:create", answer)
	}
	return s.ShowProject(created.ProjectID)
}

func (s *server) updateProject(ctx context.Context, c *call, in *wire.ProjectID) (projections.ProjectView, error) {
	var body projectFields
	if err := c.decode(&body); err != nil {
		return projections.ProjectView{}, err
	}
	update := &commands.UpdateProject{
		ProjectID:   in.ID,
		Name:        body.Name,
		WorkingDir:  body.WorkingDir,
		Description: body.Description,
	}
	if _, err := s.do(ctx, c, c.By, update, ""); err != nil {
		return projections.ProjectView{}, err
	}
	return s.ShowProject(in.ID)
}

func (s *server) deleteProject(ctx context.Context, c *call, in *wire.ProjectID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteProject{ProjectID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

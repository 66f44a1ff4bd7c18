package compat

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) projectRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/projects",
		Name:    "project-create",
		Summary: "Create a project",
		Status:  http.StatusCreated,
		Body:    projectFields{},
	}, row: "project:create"}, s.createProject)
	write(s, op{Route: route.Route{
		Method:  http.MethodPut,
		Path:    "/api/projects/{id}",
		Name:    "project-update",
		Summary: "Update a project",
		Body:    projectFields{},
	}, row: "project:update"}, s.updateProject)
	write(s, op{Route: route.Route{
		Method:  http.MethodDelete,
		Path:    "/api/projects/{id}",
		Name:    "project-delete",
		Summary: "Delete an empty project",
	}}, s.deleteProject)
}

// projectFields is the body of POST and PUT.
type projectFields struct {
	Name        *string `json:"name,omitempty"`
	WorkingDir  *string `json:"workingDir,omitempty"`
	Description *string `json:"description,omitempty"`
}

func (s *compat) createProject(ctx context.Context, c *call, _ *struct{}) (projections.ProjectView, error) {
	var body projectFields
	if err := c.decode(ctx, &body); err != nil {
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
	return s.showProject(created.ProjectID)
}

func (s *compat) updateProject(ctx context.Context, c *call, in *wire.ProjectID) (projections.ProjectView, error) {
	var body projectFields
	if err := c.decode(ctx, &body); err != nil {
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
	return s.showProject(in.ID)
}

func (s *compat) deleteProject(ctx context.Context, c *call, in *wire.ProjectID) (deleted, error) {
	_, err := s.do(ctx, c, c.By, &commands.DeleteProject{ProjectID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// showProject is the answer to a write.
func (s *compat) showProject(id string) (projections.ProjectView, error) {
	var view projections.ProjectView
	err := error(service.NotFound("Project", id))
	s.Handler.View(func(state *projections.State) {
		if p := state.Project(id); p != nil {
			view, err = state.ProjectView(p), nil
		}
	})
	return view, err
}

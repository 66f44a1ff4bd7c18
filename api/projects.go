package api

import (
	"context"
	"net/http"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

type projectID struct {
	ID string `path:"id" doc:"the project"`
}

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
	}, listProjects)
	read(s, op{path: "/api/projects/{id}", name: "project-get", summary: "A project"}, getProject)
	read(s, op{
		path:    "/api/projects/{id}/status",
		name:    "project-status",
		summary: "A project's tasks and sessions, counted by where they stand",
	}, projectStatus)
	read(s, op{
		path:    "/api/projects/{id}/tree",
		name:    "project-tree",
		summary: "A project's tasks as trees",
	}, projectTree)
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

// project gives a project that the caller may see by a row of the table.
func (v view) project(row, id string) (*projections.Project, error) {
	if err := v.permit(row, ""); err != nil {
		return nil, err
	}
	p := v.Project(id)
	if p == nil {
		return nil, notFound("Project", id)
	}
	return p, v.permit(row, id)
}

// projects gives the projects that the caller may see by a row, or the one that it names: none if there is no such
// project.
func (v view) projects(row, only string) ([]*projections.Project, error) {
	if err := v.permit(row, ""); err != nil {
		return nil, err
	}
	if only != "" {
		p := v.Project(only)
		if p == nil {
			return nil, nil
		}
		return []*projections.Project{p}, v.permit(row, only)
	}
	var seen []*projections.Project
	for p := range v.Projects() {
		if v.permit(row, p.ID) == nil {
			seen = append(seen, p)
		}
	}
	return seen, nil
}

func listProjects(v view, _ *struct{}) ([]projections.ProjectView, error) {
	projects, err := v.projects("project:list", "")
	views := make([]projections.ProjectView, 0, len(projects))
	for _, p := range projects {
		views = append(views, p.View())
	}
	return views, err
}

func getProject(v view, in *projectID) (projections.ProjectView, error) {
	p, err := v.project("project:get", in.ID)
	if err != nil {
		return projections.ProjectView{}, err
	}
	return p.View(), nil
}

func projectStatus(v view, in *projectID) (projections.ProjectStatus, error) {
	p, err := v.project("status", in.ID)
	if err != nil {
		return projections.ProjectStatus{}, err
	}
	return v.ProjectStatus(p), nil
}

func projectTree(v view, in *projectID) ([]projections.TaskTree, error) {
	p, err := v.project("task:tree", in.ID)
	if err != nil {
		return nil, err
	}
	return v.TaskTrees(p.ID), nil
}

func (s *server) createProject(ctx context.Context, c *call, _ *struct{}) (projections.ProjectView, error) {
	var body projectFields
	if err := c.decode(&body); err != nil {
		return projections.ProjectView{}, err
	}
	answer, err := s.do(ctx, c, c.by, &commands.CreateProject{
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

func (s *server) updateProject(ctx context.Context, c *call, in *projectID) (projections.ProjectView, error) {
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
	if _, err := s.do(ctx, c, c.by, update, ""); err != nil {
		return projections.ProjectView{}, err
	}
	return s.showProject(in.ID)
}

func (s *server) deleteProject(ctx context.Context, c *call, in *projectID) (deleted, error) {
	_, err := s.do(ctx, c, c.by, &commands.DeleteProject{ProjectID: in.ID}, "")
	return deleted{Success: true, ID: in.ID}, err
}

// showProject is what a write answers.
func (s *server) showProject(id string) (projections.ProjectView, error) {
	var p *projections.Project
	s.Handler.View(func(state *projections.State) { p = state.Project(id) })
	if p == nil {
		return projections.ProjectView{}, notFound("Project", id)
	}
	return p.View(), nil
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

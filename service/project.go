package service

import (
	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// PermitProject gives a project that the caller may see by a row of the table.
func (v View) PermitProject(row, id string) (*projections.Project, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	p := v.Project(id)
	if p == nil {
		return nil, NotFound("Project", id)
	}
	return p, v.Permit(row, id)
}

// PermitProjects gives the projects that the caller may see by a row, or the one that it names: none if there is no
// such project.
func (v View) PermitProjects(row, only string) ([]*projections.Project, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if only != "" {
		p := v.Project(only)
		if p == nil {
			return nil, nil
		}
		return []*projections.Project{p}, v.Permit(row, only)
	}
	var seen []*projections.Project
	var named map[string]bool // the projects of a token that reads those alone
	if by := v.Caller.By; by.Access == commands.AccessReadOnly {
		named = make(map[string]bool, len(by.Projects))
		for _, id := range by.Projects {
			named[id] = true
		}
	}
	for p := range v.Projects() {
		if (named == nil || named[p.ID]) && v.Permit(row, p.ID) == nil {
			seen = append(seen, p)
		}
	}
	return seen, nil
}

// ListProjects gives the projects that the caller may see.
func (v View) ListProjects(in *wire.ProjectFilter) ([]projections.ProjectView, error) {
	projects, err := v.PermitProjects("project:list", "")
	views := make([]projections.ProjectView, 0, len(projects))
	for _, p := range projects {
		if in.Name == "" || in.Name == p.Name {
			views = append(views, p.View())
		}
	}
	return views, err
}

// GetProject gives a project.
func (v View) GetProject(in *wire.ProjectID) (projections.ProjectView, error) {
	p, err := v.PermitProject("project:get", in.ID)
	if err != nil {
		return projections.ProjectView{}, err
	}
	return p.View(), nil
}

// GetProjectStatus counts the tasks and sessions of a project by where they stand.
func (v View) GetProjectStatus(in *wire.ProjectID) (projections.ProjectStatus, error) {
	p, err := v.PermitProject("status", in.ID)
	if err != nil {
		return projections.ProjectStatus{}, err
	}
	status := v.ProjectStatus(p)
	if v.Permit("task:list", p.ID) != nil { // a list may leave it out; then the counts are all there is to see
		status.ToConfirm, status.Said, status.SaidMore = []projections.TaskSaid{}, []projections.TaskSaid{}, 0
	}
	return status, nil
}

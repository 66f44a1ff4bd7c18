package commands

import (
	"strings"

	"maestro/events"
	"maestro/projections"
)

// CreateProject creates a project. Compat: POST /api/projects.
type CreateProject struct {
	Name        string `json:"name" doc:"the name that people use"`
	WorkingDir  string `json:"workingDir,omitempty" flag:"<path>" doc:"the directory of its code"`
	Description string `json:"description,omitempty" flag:"\"<text>\"" doc:"what the project is for"`

	blobs events.Blobs
}

// UpdateProject updates fields of a project. Compat: PUT /api/projects/:id.
type UpdateProject struct {
	ProjectID   string  `json:"projectId" doc:"the project"`
	Name        *string `json:"name,omitempty" flag:"\"<name>\"" doc:"new name"`
	WorkingDir  *string `json:"workingDir,omitempty" flag:"<path>" doc:"new directory of its code"`
	Description *string `json:"description,omitempty" flag:"\"<text>\"" doc:"new description"`

	blobs events.Blobs
}

// DeleteProject deletes an empty project.
type DeleteProject struct {
	noTexts
	ProjectID string `json:"projectId" doc:"the project"`
}

// ID implements Command.
func (*CreateProject) ID() string { return "project:create" }

// ID implements Command.
func (*UpdateProject) ID() string { return "project:update" }

// ID implements Command.
func (*DeleteProject) ID() string { return "project:delete" }

func (*CreateProject) project(*projections.State, Actor) string   { return "" }
func (x *UpdateProject) project(*projections.State, Actor) string { return x.ProjectID }
func (x *DeleteProject) project(*projections.State, Actor) string { return x.ProjectID }

func (x *CreateProject) texts() (map[string]*string, *events.Blobs) {
	return map[string]*string{"description": &x.Description}, &x.blobs
}

func (x *UpdateProject) texts() (map[string]*string, *events.Blobs) {
	return map[string]*string{"description": x.Description}, &x.blobs
}

// Decide implements Command.
func (x *CreateProject) Decide(s *projections.State, c Call) (events.Data, error) {
	name := strings.TrimSpace(x.Name)
	if name == "" {
		return nil, invalid("/name", "Project name is required")
	}
	if err := validProject(&name, &x.WorkingDir, &x.Description); err != nil {
		return nil, err
	}
	taken := func(id string) bool { return s.Project(id) != nil }
	return &events.ProjectCreated{
		ProjectID:   newID("proj", c, taken),
		Name:        name,
		WorkingDir:  x.WorkingDir,
		Description: x.Description,
		Blobs:       x.blobs,
	}, nil
}

func (x *CreateProject) from(_ *events.Event, d *events.ProjectCreated) bool {
	*x = CreateProject{
		Name:        d.Name,
		WorkingDir:  d.WorkingDir,
		Description: d.Description,
		blobs:       d.Blobs,
	}
	return true
}

// Decide implements Command.
func (x *UpdateProject) Decide(s *projections.State, _ Call) (events.Data, error) {
	if _, err := project(s, "/projectId", x.ProjectID); err != nil {
		return nil, err
	}
	name := x.Name
	if name != nil {
		trimmed := strings.TrimSpace(*name)
		if trimmed == "" {
			return nil, invalid("/name", "Project name cannot be empty")
		}
		name = &trimmed
	}
	if err := validProject(name, x.WorkingDir, x.Description); err != nil {
		return nil, err
	}
	return &events.ProjectUpdated{
		ProjectID:   x.ProjectID,
		Name:        name,
		WorkingDir:  x.WorkingDir,
		Description: x.Description,
		Blobs:       x.blobs,
	}, nil
}

func (x *UpdateProject) from(_ *events.Event, d *events.ProjectUpdated) bool {
	*x = UpdateProject{
		ProjectID:   d.ProjectID,
		Name:        d.Name,
		WorkingDir:  d.WorkingDir,
		Description: d.Description,
		blobs:       d.Blobs,
	}
	return true
}

// Decide implements Command.
func (x *DeleteProject) Decide(s *projections.State, c Call) (events.Data, error) {
	p, err := project(s, "/projectId", x.ProjectID)
	if err != nil {
		return nil, err
	}
	if c.By.Kind == ActorSession && p.CreatedBy != c.By.Source() {
		return nil, notAllowed("project:delete", "an orchestrator deletes only a project that it created",
			"ask the user",
			"Session '%s' did not create project '%s'", c.By.Name, p.ID)
	}
	if p.Tasks > 0 {
		return nil, forbidden("only an empty project can be deleted", "delete its tasks first",
			"Cannot delete project with existing tasks")
	}
	if p.Sessions > 0 {
		return nil, forbidden("only an empty project can be deleted", "delete its sessions first",
			"Cannot delete project with existing sessions")
	}
	return &events.ProjectDeleted{ProjectID: p.ID}, nil
}

func (x *DeleteProject) from(_ *events.Event, d *events.ProjectDeleted) bool {
	*x = DeleteProject{ProjectID: d.ProjectID}
	return true
}

func validProject(name, workingDir, description *string) error {
	if name != nil {
		if err := ValidLine("/name", *name, MaxName); err != nil {
			return err
		}
	}
	if workingDir != nil {
		if err := ValidLine("/workingDir", *workingDir, maxPath); err != nil {
			return err
		}
	}
	if description != nil {
		return ValidText("/description", *description)
	}
	return nil
}

// project returns the project with an id that a caller sent.
func project(s *projections.State, pointer, id string) (*projections.Project, error) {
	if id == "" {
		return nil, invalid(pointer, "Project ID is required")
	}
	if err := ValidID(pointer, id); err != nil {
		return nil, err
	}
	p := s.Project(id)
	if p == nil {
		return nil, notFound("Project", id)
	}
	return p, nil
}

package events

// ProjectCreated: a project was created.
type ProjectCreated struct {
	ProjectID   string `json:"projectId" doc:"the new project"`
	Name        string `json:"name" doc:"as people call it"`
	WorkingDir  string `json:"workingDir,omitempty" doc:"where its code is, absolute"`
	Description string `json:"description,omitempty" doc:"what it is for"`
	Blobs       Blobs  `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

// ProjectUpdated: the fields that are present have new values.
type ProjectUpdated struct {
	ProjectID   string  `json:"projectId" doc:"the project"`
	Name        *string `json:"name,omitempty" doc:"new name"`
	WorkingDir  *string `json:"workingDir,omitempty" doc:"new working directory"`
	Description *string `json:"description,omitempty" doc:"new description"`
	Blobs       Blobs   `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

// ProjectDeleted: the project is removed from the views; its history stays.
type ProjectDeleted struct {
	ProjectID string `json:"projectId" doc:"the project"`
}

var projectEvents = []Entry{
	entry[ProjectCreated]("A project exists from now on."),
	entry[ProjectUpdated]("Fields of a project have new values."),
	entry[ProjectDeleted]("A project is gone from the views."),
}

// EventType implements Data.
func (*ProjectCreated) EventType() string { return "maestro.project.created.v1" }

// EventType implements Data.
func (*ProjectUpdated) EventType() string { return "maestro.project.updated.v1" }

// EventType implements Data.
func (*ProjectDeleted) EventType() string { return "maestro.project.deleted.v1" }

// Aggregate implements Data.
func (d *ProjectCreated) Aggregate() (kind, id string) { return AggregateProject, d.ProjectID }

// Aggregate implements Data.
func (d *ProjectUpdated) Aggregate() (kind, id string) { return AggregateProject, d.ProjectID }

// Aggregate implements Data.
func (d *ProjectDeleted) Aggregate() (kind, id string) { return AggregateProject, d.ProjectID }

// Describe implements Data.
func (d *ProjectCreated) Describe() Description {
	return describe("created", "create", named(" project ", d.ProjectID, " project"), quoted(d.Name))
}

// Describe implements Data.
func (d *ProjectUpdated) Describe() Description {
	return describe("updated", "update", named(" project ", d.ProjectID, ""))
}

// Describe implements Data.
func (d *ProjectDeleted) Describe() Description {
	return describe("deleted", "delete", named(" project ", d.ProjectID, ""))
}

func (*ProjectCreated) sealed() {}
func (*ProjectUpdated) sealed() {}
func (*ProjectDeleted) sealed() {}

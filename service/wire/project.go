package wire

// ProjectFilter selects projects.
type ProjectFilter struct {
	Name string `query:"name" doc:"with this name"`
}

// ProjectID names a project.
type ProjectID struct {
	ID string `path:"id" doc:"the project"`
}

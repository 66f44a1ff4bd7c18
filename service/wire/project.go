package wire

// ProjectID names a project.
type ProjectID struct {
	ID string `path:"id" doc:"the project"`
}

package wire

// ProjectFilter selects projects.
type ProjectFilter struct {
	Name     string `query:"name" doc:"with this name"`
	IDPrefix string `query:"idPrefix" doc:"whose id begins like this"`
	Limit    string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
}

// ProjectID names a project.
type ProjectID struct {
	ID string `path:"id" doc:"the project"`
}

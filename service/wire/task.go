package wire

// TaskID names a task.
type TaskID struct {
	ID string `path:"id" doc:"the task"`
}

// TaskFilter selects tasks.
type TaskFilter struct {
	ProjectID     string `query:"projectId" doc:"of this project"`
	Status        string `query:"status" doc:"with this status"`
	ParentID      string `query:"parentId" doc:"directly below this task; the word null: root tasks"`
	SessionID     string `query:"sessionId" doc:"that this session has or had"`
	SessionStatus string `query:"sessionStatus" doc:"of which this is said"`
	Unconfirmed   string `query:"unconfirmed" doc:"true: that are reported as completed and that nobody has confirmed"`
	Priority      string `query:"priority" doc:"with this priority"`
	Ready         string `query:"ready" doc:"true: that can be started: todo, and all that they depend on completed"`
	Label         string `query:"label" doc:"with this label"`
	PlanID        string `query:"planId" doc:"with this id in a plan"`
	Planned       string `query:"planned" doc:"true: that have an id in a plan"`
	Search        string `query:"search" doc:"with these words in title, description, labels or plan id, in any case"`
	Order         string `query:"order" doc:"dependencies: each after those it depends on; else in order of creation"`
}

// TreeOf asks for the tasks of a project, or for those below a task.
type TreeOf struct {
	ID    string `path:"id" doc:"the project, or the task"`
	Order string `query:"order" doc:"dependencies: each after those next to it that it depends on"`
}

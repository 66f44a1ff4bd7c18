package wire

// TaskID names a task.
type TaskID struct {
	ID string `path:"id" doc:"the task"`
}

// TaskIDsMost is how many ids [TaskFilter.IDs] may name.
const TaskIDsMost = 1000

// TaskFilter selects tasks.
type TaskFilter struct {
	ProjectID     string `query:"projectId" doc:"of this project"`
	Status        string `query:"status" flag:"status todo|in_progress|completed|blocked|cancelled" doc:"with this status"`
	ParentID      string `query:"parentId" flag:"parent <taskId>" doc:"directly below this task; null: root tasks"`
	SessionID     string `query:"sessionId" flag:"session <sessionId>" doc:"that this session has or had"`
	SessionStatus string `query:"sessionStatus" flag:"says working|needs_input|blocked|completed|failed" doc:"with this report of an agent"`
	Unconfirmed   string `query:"unconfirmed" flag:"unconfirmed true" doc:"true: that are reported as completed and not confirmed"`
	Priority      string `query:"priority" flag:"priority low|medium|high|critical" doc:"with this priority"`
	Ready         string `query:"ready" flag:"ready true" doc:"true: that somebody can start now: todo, with all dependencies completed, not reported as completed or blocked, and in no queue or working session, nor below a task that a working session with the tree strategy has"`
	Label         string `query:"label" flag:"label <label>" doc:"with this label"`
	PlanID        string `query:"planId" flag:"plan-id <id>" doc:"with this id in a plan"`
	Planned       string `query:"planned" flag:"planned true" doc:"true: that have an id in a plan"`
	Search        string `query:"search" flag:"search \"<words>\"" doc:"with all of up to 8 words in title, description, labels or plan id"`
	IDPrefix      string `query:"idPrefix" doc:"whose id begins like this"`
	IDs           string `query:"ids" doc:"with one of these ids, separated by commas, at most 1000"`
	Limit         string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
	Order         string `query:"order" flag:"order dependencies|completion|siblings" doc:"dependencies: each after those it depends on; completion: also after those below it; siblings: in their order; else by creation"`
}

// TreeOf asks for the tasks of a project, or for those below a task.
type TreeOf struct {
	ID    string `path:"id" doc:"the project, or the task"`
	Order string `query:"order" flag:"order dependencies" doc:"dependencies: of tasks with the same parent, those that others wait for come first; else in their own order"`
}

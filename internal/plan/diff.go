package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/service/wire"
)

// Action is what an apply does with a task.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
)

// Applied is a task of a plan, and what an apply did with it.
type Applied struct {
	LocalID string `json:"localId"`
	// ID is empty for a task that a dry run would create.
	ID     string `json:"id,omitempty"`
	Title  string `json:"title"`
	Action Action `json:"action"`
	// Changed names the fields that have new values.
	Changed []string `json:"changed,omitempty"`
	// Existed says that the task existed before.
	Existed bool `json:"existed,omitempty"`
}

// Diff compares a plan with a project, task by task in the plan's order. The server determines whether a task's field
// changes.
type Diff struct {
	// Project is the id of the project, "" for the caller's own.
	Project string
	there   map[string]wire.Task
	ids     map[string]string
	keys    string
	given   bool
	// detached are the fields of tasks that changed before they were applied.
	detached map[string][]string
	// Done are the tasks that were applied, in order.
	Done []Applied
	// Beside are the tasks of the project that have a plan id but are not in the plan.
	Beside []wire.Task
}

// NewDiff starts the comparison of a plan with a project. content is the plan's file: the same file and key give the
// same keys of commands, so that two concurrent applies create one task.
func NewDiff(content []byte, key string) *Diff {
	sum := sha256.New()
	_, _ = sum.Write(content) // a hash never fails to write
	_, _ = io.WriteString(sum, "\x00"+key)
	return &Diff{
		there: map[string]wire.Task{},
		ids:   map[string]string{},
		keys:  "import-" + hex.EncodeToString(sum.Sum(nil)[:12]),
		given: key != "",
	}
}

// Found adds the project's tasks with a plan id. It returns the plan's other ids that may be task ids of the project,
// as in an export.
func (d *Diff) Found(p *Plan, planned []wire.Task) (named []string) {
	for _, t := range planned {
		d.there[t.PlanID] = t
	}
	inPlan := map[string]bool{}
	for _, t := range p.Tasks {
		task, known := d.there[t.ID]
		if !known {
			task, known = d.there[planID(t.ID)]
		}
		if known {
			d.there[t.ID] = task
			inPlan[task.ID] = true
		}
		if strings.HasPrefix(t.ID, "task_") {
			named = append(named, t.ID)
		}
	}
	for _, t := range planned {
		if !inPlan[t.ID] {
			d.Beside = append(d.Beside, t)
		}
	}
	return named
}

// Named adds a task that the plan names by its id, which takes precedence over an equal plan id. A task of another
// project does not belong to the plan.
func (d *Diff) Named(t wire.Task) {
	if d.Project != "" && t.ProjectID != d.Project {
		return
	}
	if known, ok := d.there[t.ID]; ok {
		d.Beside = append(d.Beside, known)
	}
	d.there[t.ID] = t
}

// planID returns the plan id for a task that an entry creates: a plan id never has the form of a task id, which an
// export uses for tasks without one.
func planID(local string) string {
	if commands.IsTaskID(local) {
		return "from-" + local
	}
	return local
}

// There returns the project's task for an entry of the plan, or false if there is none.
func (d *Diff) There(t *Task) (wire.Task, bool) {
	task, ok := d.there[t.ID]
	return task, ok
}

// Create returns the command that creates a task, and its key.
func (d *Diff) Create(t *Task) (*commands.CreateTask, string) {
	return &commands.CreateTask{
		ProjectRef:         commands.ProjectRef{Project: d.Project},
		Title:              t.Title,
		Description:        t.Description,
		AcceptanceCriteria: t.AcceptanceCriteria,
		Priority:           t.Priority,
		ParentID:           d.ids[t.Parent],
		InitialPrompt:      t.InitialPrompt,
		SkillIDs:           t.Skills,
		Model:              t.Model,
		PlanID:             planID(t.ID),
		Labels:             t.Labels,
		Metadata:           t.Metadata,
		Dependencies:       d.idsOf(nil, t),
	}, d.keys + ":task:" + t.ID
}

// Update returns the command that sets a task's fields to those of the plan, and its key, "" for a new one. It also
// sets a task's place, unless that is determined separately with [Diff.Moves].
func (d *Diff) Update(task *wire.Task, t *Task, place bool) (*commands.UpdateTask, string) {
	list := func(texts []string) *[]string {
		all := append([]string{}, texts...)
		return &all
	}
	priority := cmp.Or(t.Priority, DefaultPriority)
	update := &commands.UpdateTask{
		TaskID:             task.ID,
		Title:              &t.Title,
		Description:        &t.Description,
		AcceptanceCriteria: list(t.AcceptanceCriteria),
		Priority:           &priority,
		SkillIDs:           list(t.Skills),
		Model:              &t.Model,
		InitialPrompt:      &t.InitialPrompt,
		Labels:             list(t.Labels),
		Metadata:           t.Metadata,
	}
	if len(t.Metadata) == 0 && len(task.Metadata) > 0 {
		update.Metadata = json.RawMessage("{}")
	}
	if place {
		parent, dependencies := d.ids[t.Parent], d.idsOf(task, t)
		update.ParentID, update.Dependencies = &parent, &dependencies
		// Dependencies on deleted tasks stay, because otherwise applying an unchanged export would change something.
		if kept := withoutDeleted(task); len(kept) < len(task.Dependencies) && slices.Equal(kept, dependencies) {
			update.Dependencies = nil
		}
	}
	if !d.given {
		return update, ""
	}
	return update, d.keys + ":update:" + t.ID
}

// Moves names what would change in a task's place. In a dry run nothing that the plan moves before it has moved, so the
// server cannot judge that.
func (d *Diff) Moves(task *wire.Task, t *Task) (changed []string) {
	dependencies := d.idsOf(task, t)
	if len(dependencies) < len(t.Dependencies) || !slices.Equal(dependencies, withoutDeleted(task)) {
		changed = append(changed, "dependencies")
	}
	if old := task.ParentID; old == nil && t.Parent != "" || old != nil && d.ids[t.Parent] != *old {
		changed = append(changed, "parentId")
	}
	return changed
}

// withoutDeleted returns the dependencies of a task that a plan can name.
func withoutDeleted(task *wire.Task) []string {
	deleted := map[string]bool{}
	for _, gone := range task.GoneDependencies {
		deleted[gone.TaskID] = gone.Why == wire.GoneDeleted
	}
	return slices.DeleteFunc(slices.Clone(task.Dependencies), func(id string) bool { return deleted[id] })
}

// Apply records the result for a task: its id, "" if a dry run would create it, and the fields that changed.
func (d *Diff) Apply(t *Task, id string, changed []string) {
	_, there := d.there[t.ID]
	for _, field := range d.detached[t.ID] {
		if !slices.Contains(changed, field) {
			changed = append(changed, field)
		}
	}
	action := Created
	switch {
	case there && len(changed) > 0:
		action = Updated
	case there:
		action = Unchanged
	}
	if id != "" {
		d.ids[t.ID] = id
	}
	d.Done = append(d.Done, Applied{
		LocalID: t.ID,
		ID:      id,
		Title:   t.Title,
		Action:  action,
		Changed: changed,
		Existed: there,
	})
}

// Count counts the tasks with an action.
func (d *Diff) Count(action Action) (n int) {
	for _, t := range d.Done {
		if t.Action == action {
			n++
		}
	}
	return n
}

// idsOf returns the existing tasks that one of the plan depends on. Of those that the plan applies later, it returns
// only the ones that the project's task, nil for a new one, depends on already: a new dependency on one that is still
// to move could be a cycle.
func (d *Diff) idsOf(task *wire.Task, t *Task) []string {
	ids := []string{}
	for _, local := range t.Dependencies {
		id := d.ids[local]
		if later := d.there[local].ID; id == "" && task != nil && slices.Contains(task.Dependencies, later) {
			id = later
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Later returns the command that gives a task its dependencies once all tasks are there, and its key, "" for a new one;
// nil if the task has had them since it was applied.
func (d *Diff) Later(t *Task) (*commands.UpdateTask, string) {
	if !t.Later {
		return nil, ""
	}
	var task *wire.Task
	if there, known := d.There(t); known {
		task = &there
	}
	dependencies := d.idsOf(task, t)
	if task != nil && slices.Equal(withoutDeleted(task), dependencies) {
		return nil, ""
	}
	key := ""
	if d.given {
		key = d.keys + ":later:" + t.ID
	}
	return &commands.UpdateTask{TaskID: d.ids[t.ID], Dependencies: &dependencies}, key
}

// Depends records that a task got its dependencies after it was applied.
func (d *Diff) Depends(t *Task) {
	for i := range d.Done {
		if done := &d.Done[i]; done.LocalID == t.ID && done.Existed {
			done.Action = Updated
			if !slices.Contains(done.Changed, "dependencies") {
				done.Changed = append(done.Changed, "dependencies")
			}
		}
	}
}

package plan

import (
	"cmp"

	"maestro/service/wire"
)

// Of returns the plan of a project: applied to the project again, it changes nothing. The tasks are in the order of the
// list; it omits parents and dependencies that are not in the list.
func Of(project *wire.Project, tasks []wire.Task) *Plan {
	p := &Plan{Name: project.Name, Description: project.Description, WorkingDir: project.WorkingDir}
	local := localIDs(tasks)
	for i := range tasks {
		p.Tasks = append(p.Tasks, planned(&tasks[i], local))
	}
	return p
}

// localIDs returns the ids of tasks in their plan. A plan id that equals another task's own id, as in an older log, is
// not used.
func localIDs(tasks []wire.Task) map[string]string {
	local := make(map[string]string, len(tasks))
	for i := range tasks {
		local[tasks[i].ID] = tasks[i].ID
	}
	for i := range tasks {
		t := &tasks[i]
		if _, own := local[t.PlanID]; !own {
			local[t.ID] = cmp.Or(t.PlanID, t.ID)
		}
	}
	return local
}

func planned(t *wire.Task, local map[string]string) Task {
	task := Task{
		ID:                 local[t.ID],
		Title:              t.Title,
		Description:        t.Description,
		AcceptanceCriteria: t.AcceptanceCriteria,
		Priority:           t.Priority,
		InitialPrompt:      t.InitialPrompt,
		Skills:             t.SkillIDs,
		Model:              t.Model,
		Labels:             t.Labels,
		Metadata:           t.Metadata,
	}
	if t.ParentID != nil {
		task.Parent = local[*t.ParentID]
	}
	for _, id := range t.Dependencies {
		if id := local[id]; id != "" {
			task.Dependencies = append(task.Dependencies, id)
		}
	}
	return task
}

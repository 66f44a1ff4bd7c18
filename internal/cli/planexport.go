package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/plan"
	"maestro/service/wire"
)

// planExport is `maestro plan export`.
type planExport struct {
	*Run
	project string
}

func newPlanExport(a *Run) *cobra.Command {
	c := &planExport{Run: a}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the tasks of a project as a plan, a YAML file",
		Args:  Takes,
		Long: `Print the tasks of a project as a plan, a YAML file: change it, and apply it with "maestro plan apply". A task that
comes from no plan has the id that it has in the project. Applying the file unchanged changes nothing.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.project)
	return cmd
}

func (c *planExport) run(ctx context.Context, _ []string) error {
	project, err := c.knownProject(ctx, c.project)
	if err != nil {
		return err
	}
	of, err := Ask(ctx, c.Run, (*client.Client).Project, project)
	if err != nil {
		return err
	}
	tasks, err := Ask(ctx, c.Run, (*client.Client).Tasks, wire.TaskFilter{ProjectID: project})
	if err != nil {
		return err
	}
	p := &plan.Plan{Name: of.Name, Description: of.Description, WorkingDir: of.WorkingDir}
	local := localIDs(tasks)
	for i := range tasks {
		t, err := c.planned(ctx, &tasks[i], local)
		if err != nil {
			return err
		}
		p.Tasks = append(p.Tasks, t)
	}
	file, err := p.YAML()
	if err != nil {
		return err
	}
	c.Result(struct {
		Project string `json:"project"`
		Tasks   int    `json:"tasks"`
		Plan    string `json:"plan"`
	}{project, len(tasks), string(file)}, func() { c.raw(file) })
	return nil
}

// localIDs gives the ids of tasks in their plan. A plan id that is another task's own id, as an older log may have it,
// gives way to that.
func localIDs(tasks []wire.Task) map[string]string {
	local := make(map[string]string, len(tasks))
	for _, t := range tasks {
		local[t.ID] = t.ID
	}
	for _, t := range tasks {
		if _, own := local[t.PlanID]; !own {
			local[t.ID] = cmp.Or(t.PlanID, t.ID)
		}
	}
	return local
}

// planned gives a task as a plan holds it. Tasks that are not there any more are left out.
func (c *planExport) planned(ctx context.Context, t *wire.Task, local map[string]string) (plan.Task, error) {
	task := plan.Task{
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
	for field, text := range map[string]*string{
		"description": &task.Description, "initialPrompt": &task.InitialPrompt,
	} {
		if err := c.whole(ctx, t.Blobs, field, text); err != nil {
			return task, err
		}
	}
	return task, nil
}

// whole reads the whole of a long text, of which a view has the beginning.
func (c *planExport) whole(ctx context.Context, blobs events.Blobs, field string, text *string) error {
	digest := blobs[field]
	if digest == "" {
		return nil
	}
	content, err := Ask(ctx, c.Run, (*client.Client).Blob, digest)
	*text = string(content)
	return err
}

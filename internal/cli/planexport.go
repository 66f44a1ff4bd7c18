package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
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
		Long: `Print the tasks of a project as a plan, a YAML file. Edit it, and apply it with
"maestro plan apply". A task that does not come from a plan is listed under its
task id. Siblings are listed in their order. Applying the unchanged file
changes nothing.`,
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
	tasks, err := Ask(ctx, c.Run, (*client.Client).Tasks, wire.TaskFilter{
		ProjectID: project,
		Order:     "siblings",
	})
	if err != nil {
		return err
	}
	p := plan.Of(&of, tasks)
	for i := range tasks {
		if err := c.wholeTexts(ctx, tasks[i], &p.Tasks[i]); err != nil {
			return err
		}
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

// wholeTexts replaces the truncated texts of a task with the full ones. A plan cannot have a text that was redacted.
func (c *planExport) wholeTexts(ctx context.Context, of wire.Task, t *plan.Task) error {
	for _, field := range []struct{ name, flag string }{{"description", "description"}, {"initialPrompt", "prompt"}} {
		if r, gone := of.Redacted[field.name]; gone {
			return failure.Usage("The %s of task %s was %s", field.flag, of.ID, Redacted(r)).
				WithWhy("a plan has whole texts, and this one is gone").
				WithNext("give the task another one: `maestro task update %s --%s \"…\"`", of.ID, field.flag)
		}
	}
	return errors.Join(c.whole(ctx, of.Blobs["description"], &t.Description),
		c.whole(ctx, of.Blobs["initialPrompt"], &t.InitialPrompt))
}

func (c *planExport) whole(ctx context.Context, digest string, text *string) error {
	if digest == "" {
		return nil
	}
	content, err := Ask(ctx, c.Run, (*client.Client).Blob, digest)
	*text = string(content)
	return err
}

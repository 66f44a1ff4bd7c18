package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// taskComplete is `maestro task complete`.
type taskComplete struct {
	*Run
	saidDone     bool
	body         commands.CompleteTask
	project, key string
}

func newTaskComplete(a *Run) *cobra.Command {
	c := &taskComplete{Run: a}
	cmd := &cobra.Command{
		Use:   "complete <taskId>…",
		Short: "Confirm that tasks are done",
		Long: `Confirm that tasks are done: the named tasks or, with --said-done, all tasks
that agents reported as completed and nobody has confirmed. Each task comes after
those that it depends on and those below it, and gets its own answer: if some are
refused, the others are still completed.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.saidDone && len(args) == 0 {
				return nil
			}
			return Takes(cmd, args)
		},
		RunE: Running(c.run),
	}
	bind(cmd, &c.body)
	cmd.Flags().BoolVar(&c.saidDone, "said-done", false,
		"all tasks of the project that agents report as completed; name no task with it")
	projectFlag(cmd, &c.project)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "task:complete")
}

func (c *taskComplete) run(ctx context.Context, args []string) error {
	const words = "Completed task %s"
	of := func(id string) any {
		in := commands.ProjectRef{Project: c.project}
		return &commands.CompleteTask{ProjectRef: in, TaskID: id, Force: c.body.Force}
	}
	switch {
	case c.saidDone && len(args) > 0:
		return failure.Usage("--said-done and named tasks cannot be used together").WithNext("leave one of them out")
	case c.saidDone:
		return c.completeSaidDone(ctx, of, words)
	case len(args) > wire.TaskIDsMost:
		return failure.Usage("%d tasks are too many for one command", len(args)).
			WithWhy("the order in which they can be completed is found for %d at most", wire.TaskIDsMost).
			WithNext("name fewer, or use --said-done")
	case len(args) == 1:
		return c.change(ctx, "task:complete", of(args[0]), c.key, args[0], words, args[0])
	}
	return c.eachAfterOthers(ctx, c.inOrder(ctx, args), "task:complete", of, c.key, words)
}

// inOrder returns the named tasks in an order in which each can be completed: after those that it depends on, and those
// below it. It keeps their titles, which are shown with what was done. A task that cannot be read comes first.
func (c *taskComplete) inOrder(ctx context.Context, ids []string) []string {
	c.titles = map[string]string{}
	tasks, err := Ask(ctx, c.Run, (*client.Client).Tasks, wire.TaskFilter{
		IDs:   strings.Join(ids, ","),
		Order: "completion",
	})
	if err != nil { // who may not list tasks may still complete them
		return ids
	}
	for _, t := range tasks {
		c.titles[t.ID] = t.Title
	}
	ordered := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, readable := c.titles[id]; !readable {
			ordered = append(ordered, id)
		}
	}
	for _, t := range tasks {
		ordered = append(ordered, t.ID)
	}
	return ordered
}

func (c *taskComplete) completeSaidDone(ctx context.Context, of func(id string) any, words string) error {
	project, err := c.knownProject(ctx, c.project)
	if err != nil {
		return err
	}
	said, err := Ask(ctx, c.Run, (*client.Client).Tasks, wire.TaskFilter{
		ProjectID:   project,
		Unconfirmed: "true",
		Order:       "completion",
	})
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(said))
	c.titles = map[string]string{}
	for _, t := range said {
		ids = append(ids, t.ID)
		c.titles[t.ID] = t.Title
	}
	if len(ids) == 0 && c.isSession() {
		if err := c.refusedFor(ctx, "task:complete"); err != nil {
			return err
		}
	}
	if len(ids) == 0 && !c.JSON {
		c.Print("No task of the project is reported as completed and not confirmed\n")
		return nil
	}
	return c.eachAfterOthers(ctx, ids, "task:complete", of, c.key, words)
}

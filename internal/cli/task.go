package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
)

// taskCreate is `maestro task create`.
type taskCreate struct {
	*Run
	fields *fields
	body   commands.CreateTask
	key    string
	quiet  bool
}

func newTaskCreate(a *Run) *cobra.Command {
	c := &taskCreate{Run: a}
	cmd := &cobra.Command{
		Use:   `create "<title>"`,
		Short: "Create a task",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.body.Project)
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return Tell(cmd, "task:create", "parent", "description", "criteria", "depends-on", "priority")
}

func (c *taskCreate) run(ctx context.Context, args []string) error {
	err := c.fields.set(args)
	if err != nil {
		return err
	}
	if c.body.ParentID == "null" {
		c.body.ParentID = ""
	}
	tasks := c.body.Dependencies
	if c.body.ParentID != "" {
		tasks = []string{c.body.ParentID}
	}
	if c.body.Project, err = c.project(ctx, c.body.Project, tasks...); err != nil {
		return err
	}
	answer, err := c.send(ctx, "task:create", &c.body, c.key)
	if err != nil {
		return err
	}
	return c.wroteNew(answer, c.quiet, "task", c.body.Title)
}

func newTaskUpdate(a *Run) *cobra.Command {
	return newUpdate(a, &commands.UpdateTask{}, "update <taskId>", "Change fields of a task, or its status",
		"Updated task %[1]s", "title", "description", "criteria", "depends-on", "priority", "status")
}

func newTaskBlock(a *Run) *cobra.Command {
	return newChange(a, &commands.BlockTask{}, `block <taskId> ["<reason>"]`, "Mark a task as blocked",
		"Blocked task %[1]s")
}

func newTaskReopen(a *Run) *cobra.Command {
	return newChange(a, &commands.ReopenTask{}, `reopen <taskId> ["<reason>"]`,
		"Send a task back to in_progress; its session, or the next one, gets the reason", "Reopened task %[1]s")
}

// taskDelete is `maestro task delete`.
type taskDelete struct {
	*Run
	fields *fields
	body   commands.DeleteTask
	key    string
}

func newTaskDelete(a *Run) *cobra.Command {
	c := &taskDelete{Run: a}
	cmd := &cobra.Command{
		Use:   "delete <taskId>",
		Short: "Delete a task",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "task:delete", "recursive", "force")
}

func (c *taskDelete) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	answer, err := c.send(ctx, "task:delete", &c.body, c.key)
	if err != nil {
		return err
	}
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	below := ""
	if deleted, ok := data.(*events.TaskDeleted); ok && len(deleted.Descendants) > 0 {
		below = " and " + Many(len(deleted.Descendants), "task") + " below it"
	}
	c.wrote(answer, args[0], "Deleted task %s%s", args[0], below)
	return nil
}

func newTask(a *Run) *cobra.Command {
	return a.group(
		"task",
		"Tasks: the work, and what is decided about it",
		newTaskList(a),
		newTaskGet(a),
		newTaskCreate(a),
		newTaskChildren(a),
		newTaskTree(a),
		newTaskUpdate(a),
		newTaskEdit(a),
		newTaskMove(a),
		newTaskComplete(a),
		newTaskBlock(a),
		newTaskReopen(a),
		newTaskDelete(a),
		newTaskImport(a),
		newTaskReport(a),
	)
}

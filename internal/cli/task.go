package cli

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
)

// taskFields are the flags that the creation and the update of a task have in common.
type taskFields struct {
	description, priority, model, metadata string
	criteria, dependencies, skills         []string
}

func (f *taskFields) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.description, "description", "", "what is to be done")
	cmd.Flags().StringArrayVar(&f.criteria, "criteria", nil, "what must be true when it is done; may be repeated")
	cmd.Flags().StringVar(&f.priority, "priority", "", "low, medium, high or critical")
	cmd.Flags().StringSliceVar(&f.dependencies, "depends-on", nil,
		"ids of tasks that must be completed first, with commas")
	cmd.Flags().StringVar(&f.model, "model", "", "model that should do it: sonnet, opus, haiku or a full name")
	cmd.Flags().StringSliceVar(&f.skills, "skills", nil, "skills that the work needs, with commas")
	cmd.Flags().StringVar(&f.metadata, "metadata", "", "a JSON object, free")
	Complete(cmd, "priority", "low", "medium", "high", "critical")
	Complete(cmd, "model", "sonnet", "opus", "haiku")
}

// taskCreate is `maestro task create`.
type taskCreate struct {
	*Run
	f                            taskFields
	project, parent, prompt, key string
	quiet                        bool
}

func newTaskCreate(a *Run) *cobra.Command {
	c := &taskCreate{Run: a}
	cmd := &cobra.Command{
		Use: "create TITLE", Short: "Make a task", Args: Takes("TITLE"),
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.project)
	cmd.Flags().StringVar(&c.parent, "parent", "", "the task above it; null: a root task")
	cmd.Flags().StringVar(&c.prompt, "prompt", "", "what to tell the agent first")
	c.f.flags(cmd)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return cmd
}

func (c *taskCreate) run(ctx context.Context, args []string) error {
	metadata, err := object("metadata", c.f.metadata)
	if err != nil {
		return err
	}
	if c.project, err = c.Run.project(ctx, c.project); err != nil {
		return err
	}
	if c.parent == "null" {
		c.parent = ""
	}
	answer, err := c.send(ctx, "task:create", &commands.CreateTask{
		In: commands.In{
			Project: c.project,
		},
		Title:              args[0],
		Description:        c.f.description,
		AcceptanceCriteria: c.f.criteria,
		Priority:           c.f.priority,
		ParentID:           c.parent,
		Dependencies:       ids(c.f.dependencies),
		InitialPrompt:      c.prompt,
		SkillIDs:           ids(c.f.skills),
		Model:              c.f.model,
		Metadata:           metadata,
	}, c.key)
	if err != nil {
		return err
	}
	return c.wroteNew(answer, c.quiet, "task", args[0])
}

// taskUpdate is `maestro task update`.
type taskUpdate struct {
	*Run
	cmd                *cobra.Command
	f                  taskFields
	title, status, key string
}

func newTaskUpdate(a *Run) *cobra.Command {
	c := &taskUpdate{Run: a}
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Give fields of a task, or its status, new values",
		Args:  Takes("ID"),
	}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	cmd.Flags().StringVar(&c.title, "title", "", "new title")
	cmd.Flags().StringVar(&c.status, "status", "",
		"new status: todo, in_progress, completed, blocked, or (the user only) cancelled")
	Complete(cmd, "status", "todo", "in_progress", "completed", "cancelled", "blocked")
	c.f.flags(cmd)
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *taskUpdate) run(ctx context.Context, args []string) error {
	metadata, err := object("metadata", c.f.metadata)
	if err != nil {
		return err
	}
	body := commands.UpdateTask{
		TaskID:             args[0],
		Title:              given(c.cmd, "title", c.title),
		Description:        given(c.cmd, "description", c.f.description),
		AcceptanceCriteria: given(c.cmd, "criteria", c.f.criteria),
		Priority:           given(c.cmd, "priority", c.f.priority),
		Dependencies: given(
			c.cmd,
			"depends-on",
			ids(c.f.dependencies),
		),
		SkillIDs: given(c.cmd, "skills", ids(c.f.skills)),
		Model: given(
			c.cmd,
			"model",
			c.f.model,
		),
		Metadata: metadata,
		Status:   given(c.cmd, "status", events.TaskStatus(c.status)),
	}
	for _, list := range []*[]string{body.Dependencies, body.SkillIDs} {
		if list != nil && *list == nil {
			*list = []string{}
		}
	}
	if reflect.DeepEqual(body, commands.UpdateTask{TaskID: args[0]}) {
		return failure.Usage("There is nothing to update").WithNext("see `maestro task update --help`")
	}
	return c.change(ctx, "task:update", &body, c.key, args[0], "Updated task %s", args[0])
}

// taskComplete is `maestro task complete`.
type taskComplete struct {
	*Run
	key string
}

func newTaskComplete(a *Run) *cobra.Command {
	c := &taskComplete{Run: a}
	cmd := &cobra.Command{
		Use: "complete ID", Short: "Confirm that a task is done", Args: Takes("ID"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *taskComplete) run(ctx context.Context, args []string) error {
	return c.change(
		ctx,
		"task:complete",
		&commands.CompleteTask{TaskID: args[0]},
		c.key,
		args[0],
		"Completed task %s",
		args[0],
	)
}

// taskBlock is `maestro task block`.
type taskBlock struct {
	*Run
	key, reason string
}

func newTaskBlock(a *Run) *cobra.Command {
	c := &taskBlock{Run: a}
	cmd := &cobra.Command{
		Use: "block ID [REASON]", Short: "Mark a task as blocked", Args: Takes("ID", "[REASON]"),
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.reason, "reason", "", "why")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *taskBlock) run(ctx context.Context, args []string) error {
	if c.reason == "" {
		c.reason = At(args, 1)
	}
	return c.change(
		ctx,
		"task:block",
		&commands.BlockTask{TaskID: args[0], Reason: c.reason},
		c.key,
		args[0],
		"Blocked task %s",
		args[0],
	)
}

// taskReopen is `maestro task reopen`.
type taskReopen struct {
	*Run
	key, reason string
}

func newTaskReopen(a *Run) *cobra.Command {
	c := &taskReopen{Run: a}
	cmd := &cobra.Command{
		Use: "reopen ID [REASON]", Short: "Send a task back to in_progress", Args: Takes("ID", "[REASON]"),
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.reason, "reason", "", "what is still missing; its session is told")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *taskReopen) run(ctx context.Context, args []string) error {
	if c.reason == "" {
		c.reason = At(args, 1)
	}
	return c.change(
		ctx,
		"task:reopen",
		&commands.ReopenTask{TaskID: args[0], Reason: c.reason},
		c.key,
		args[0],
		"Reopened task %s",
		args[0],
	)
}

// taskDelete is `maestro task delete`.
type taskDelete struct {
	*Run
	key       string
	recursive bool
}

func newTaskDelete(a *Run) *cobra.Command {
	c := &taskDelete{Run: a}
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a task", Args: Takes("ID"),
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.recursive, "recursive", false, "with everything below it")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *taskDelete) run(ctx context.Context, args []string) error {
	if !c.recursive && !c.isSession() { // a session is refused by the rule, not by what lies below
		if err := refuseParent(ctx, c.Run, args[0]); err != nil {
			return err
		}
	}
	answer, err := c.send(ctx, "task:delete", &commands.DeleteTask{TaskID: args[0], Recursive: c.recursive}, c.key)
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

// refuseParent keeps a task with tasks below it from being deleted alone. One that is gone already is left to the server,
// which knows whether this is a retry.
func refuseParent(ctx context.Context, a *Run, id string) error {
	children, err := Ask(ctx, a, (*client.Client).Children, id)
	if exitCode(err) == ExitNotFound {
		return nil
	}
	if err != nil || len(children) == 0 {
		return err
	}
	below := make([]string, len(children))
	for i, child := range children {
		below[i] = child.ID
	}
	return &failure.Error{
		Status: http.StatusUnprocessableEntity, Code: "BUSINESS_RULE_ERROR",
		Message: "Task '" + id + "' has tasks below it: " + strings.Join(below, ", "),
		Why:     "deleting it alone would leave them without a parent",
		Next:    "delete everything with --recursive, or delete them first",
	}
}

func newTask(a *Run) *cobra.Command {
	return group(
		"task",
		"Tasks: what is to be done, decided by people and orchestrators",
		newTaskList(
			a,
		),
		newTaskGet(a),
		newTaskCreate(a),
		newTaskChildren(a),
		newTaskTree(a),
		newTaskUpdate(a),
		newTaskComplete(a),
		newTaskBlock(a),
		newTaskReopen(a),
		newTaskDelete(a),
		newTaskImport(a),
		newTaskReport(a),
	)
}

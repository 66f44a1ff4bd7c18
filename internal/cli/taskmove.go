package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
)

// taskMove is `maestro task move`.
type taskMove struct {
	*Run
	fields *fields
	body   taskPlace
	key    string
}

// taskPlace is the part of an update that moves a task.
type taskPlace struct {
	TaskID   string  `json:"taskId"`
	ParentID *string `json:"parentId,omitempty"`
	Before   string  `json:"before,omitempty"`
	After    string  `json:"after,omitempty"`
	Force    bool    `json:"force,omitempty"`
}

func newTaskMove(a *Run) *cobra.Command {
	c := &taskMove{Run: a}
	cmd := &cobra.Command{
		Use:   "move <taskId>",
		Short: "Move a task below another, or before or after a sibling",
		Args:  Takes,
		Long: `Move a task below another parent, before or after a sibling, or both. The
sibling must have the same parent, or the parent that --parent names.

"task tree", "task children" and "plan export" show siblings in their order.
"task list" shows tasks in order of creation, unless you add --order siblings.
If no task was ever moved, both orders are the same.`,
		RunE: Running(c.run),
	}
	c.fields = bindAs(cmd, &c.body, &commands.UpdateTask{})
	cmd.Flags().Lookup("force").Usage = "move it even if its new parent is completed and it is not"
	Exclude(cmd, "before", "after")
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "task:update", "parent", "before", "after")
}

func (c *taskMove) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if !c.fields.given() {
		return nothingToUpdate(c.fields.cmd)
	}
	body := commands.UpdateTask{
		TaskID:   c.body.TaskID,
		ParentID: c.body.ParentID,
		Before:   c.body.Before,
		After:    c.body.After,
		Force:    c.body.Force,
	}
	return c.change(ctx, "task:update", &body, c.key, args[0], "Moved task %s", args[0])
}

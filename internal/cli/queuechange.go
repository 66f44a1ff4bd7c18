package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
)

// queueMove is `maestro queue move`.
type queueMove struct {
	*Run
	fields *fields
	body   commands.MoveItem
	key    string
}

func newQueueMove(a *Run) *cobra.Command {
	c := &queueMove{Run: a}
	cmd := &cobra.Command{
		Use:   "move <taskId>",
		Short: "Move a queued item to the end, to the front, or before another",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	cmd.Flags().Bool("last", false, "put it after all others, which is the default")
	Exclude(cmd, "first", "last", "before")
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "queue:move", "before", "queue")
}

func (c *queueMove) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	return c.change(ctx, "queue:move", &c.body, c.key, args[0], "Moved %s", args[0])
}

// itemsChange is a command on items of a queue, each with its own answer.
type itemsChange struct {
	*Run
	fields         *fields
	id, words, key string
	// of returns the command for one item, with the flags that were given.
	of func(task string) any
}

// newItemsChange returns a command whose flags set the fields of body.
func newItemsChange(
	a *Run, use string, body commands.Command, words string, of func(task string) any,
) *cobra.Command {
	c := &itemsChange{
		Run:   a,
		id:    body.ID(),
		words: words,
		of:    of,
	}
	cmd := &cobra.Command{Use: use, Args: Takes, RunE: Running(c.run)}
	c.fields = bind(cmd, body)
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *itemsChange) run(ctx context.Context, args []string) error {
	if err := c.fields.readStdin(); err != nil {
		return err
	}
	if len(args) == 1 {
		return c.change(ctx, c.id, c.of(args[0]), c.key, args[0], c.words, args[0])
	}
	return c.each(ctx, args, c.id, c.of, c.key, c.words)
}

func newQueueRemove(a *Run) *cobra.Command {
	body := &commands.RemoveItem{}
	cmd := newItemsChange(a, "remove <taskId>…", body, "Removed %s", func(task string) any {
		return &commands.RemoveItem{ProjectRef: body.ProjectRef, Queue: body.Queue, TaskID: task}
	})
	cmd.Short = "Remove items that nobody holds from a queue"
	cmd.Long = `Remove items that no session holds from a queue. Their tasks stay, and can be
pushed again. Each item gets its own answer: if some are refused, the others
are still removed.`
	return Tell(cmd, "queue:remove", "queue")
}

// queueDelete is `maestro queue delete`.
type queueDelete struct {
	*Run
	fields *fields
	body   commands.DeleteQueue
	key    string
}

func newQueueDelete(a *Run) *cobra.Command {
	c := &queueDelete{Run: a}
	cmd := &cobra.Command{
		Use:   "delete <name>",
		Short: "Delete a queue in which nothing is queued or held",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.body.Project)
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "queue:delete")
}

func (c *queueDelete) run(ctx context.Context, args []string) error {
	err := c.fields.set(args)
	if err != nil {
		return err
	}
	if c.body.Project, err = c.project(ctx, c.body.Project); err != nil {
		return err
	}
	return c.change(ctx, "queue:delete", &c.body, c.key, c.body.Queue, "Deleted queue %s", c.body.Queue)
}

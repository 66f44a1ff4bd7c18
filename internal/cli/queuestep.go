package cli

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"maestro/commands"
)

// queueStep is a command that finishes an item.
type queueStep struct {
	*Run
	o         queueFlags
	key, task string
	// id is the command's, done says that it was done, and body makes it.
	id, done string
	body     func(of commands.OfQueue, task string, args []string) any
	// ofHolder says that only a session does it, with the item that it holds.
	ofHolder bool
}

// command makes the command line of a step. A step of a holder names no queue.
func (c *queueStep) command(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = Running(c.run)
	if c.ofHolder {
		c.o.addSession(cmd)
	} else {
		c.o.add(cmd)
	}
	cmd.Flags().StringVar(&c.task, "task", "", "the item; refused if the session holds another one")
	c.keyFlag(cmd, &c.key)
	return cmd
}

func (c *queueStep) run(ctx context.Context, args []string) error {
	var of commands.OfQueue
	var err error
	if c.ofHolder {
		of, err = holderNamed(c.Run, c.o)
	} else {
		of, err = queueNamed(ctx, c.Run, c.o)
	}
	if err != nil {
		return err
	}
	answer, err := c.send(ctx, c.id, c.body(of, c.task, args), c.key)
	if err != nil {
		return err
	}
	about := cmp.Or(taskOf(answer.Event), c.task)
	c.wrote(answer, about, "%s %s", c.done, about)
	return nil
}

// taskOf gives the task that an event of a queue is about.
func taskOf(event json.RawMessage) string {
	var said struct {
		Data struct {
			TaskID string `json:"taskId"`
		} `json:"data"`
	}
	if json.Unmarshal(event, &said) != nil {
		return ""
	}
	return said.Data.TaskID
}

func newQueueComplete(a *Run) *cobra.Command {
	c := &queueStep{Run: a, id: "queue:complete", done: "Completed", ofHolder: true}
	c.body = func(of commands.OfQueue, task string, _ []string) any {
		return &commands.CompleteItem{OfQueue: of, TaskID: task}
	}
	return c.command(&cobra.Command{Use: "complete", Short: "Complete the item you hold", Args: Takes()})
}

func newQueueFail(a *Run) *cobra.Command {
	c := &queueStep{Run: a, id: "queue:fail", done: "Failed", ofHolder: true}
	c.body = func(of commands.OfQueue, task string, args []string) any {
		return &commands.FailItem{OfQueue: of, TaskID: task, Reason: At(args, 0)}
	}
	return c.command(&cobra.Command{Use: "fail [REASON]", Short: "Fail the item you hold", Args: Takes("[REASON]")})
}

// newQueueSkip: a user who names a queue skips its next item, and needs no session for that.
func newQueueSkip(a *Run) *cobra.Command {
	c := &queueStep{Run: a, id: "queue:skip", done: "Skipped"}
	c.body = func(of commands.OfQueue, task string, _ []string) any {
		return &commands.SkipItem{OfQueue: of, TaskID: task}
	}
	return c.command(
		&cobra.Command{Use: "skip", Short: "Skip the item you hold, or the next one if you hold none", Args: Takes()},
	)
}

package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
)

// queueStep is a command that finishes an item.
type queueStep struct {
	*Run
	fields *fields
	body   commands.Command
	of     *commands.QueueRef
	key    string
	// task is the named task; done describes what happened to it.
	task *string
	done string
	// holderOnly says that only a session may do it, with the item that it holds.
	holderOnly bool
}

// command returns the command line of a step. A holder's step names no queue.
func (c *queueStep) command(cmd *cobra.Command, told ...string) *cobra.Command {
	cmd.RunE, cmd.Args = Running(c.run), Takes
	if c.holderOnly {
		c.fields = bind(cmd, c.body)
	} else {
		c.fields = bindQueue(cmd, c.body, c.of)
	}
	c.keyFlag(cmd, &c.key)
	return Tell(cmd, c.body.ID(), told...)
}

func (c *queueStep) run(ctx context.Context, args []string) error {
	err := c.fields.set(args)
	switch {
	case err != nil:
	case c.holderOnly && *c.task != "": // the server names the holder of this task's item
	case c.holderOnly:
		err = nameHolder(c.Run, c.of)
	default:
		err = nameQueue(ctx, c.Run, c.of)
	}
	if err != nil {
		return err
	}
	answer, err := c.send(ctx, c.body.ID(), c.body, c.key)
	if err != nil {
		return err
	}
	moved, err := taskOf(answer)
	if err != nil {
		return err
	}
	about := cmp.Or(moved, *c.task)
	c.wrote(answer, about, "%s %s", c.done, about)
	return nil
}

// taskOf returns the task of the item that was moved; "" if there is no event.
func taskOf(answer client.Answer) (string, error) {
	data, err := dataOf(answer)
	if ended, ok := data.(events.EndsItem); ok {
		return ended.EndedTask(), nil
	}
	return "", err
}

func newQueueComplete(a *Run) *cobra.Command {
	body := &commands.CompleteItem{}
	c := &queueStep{
		Run:        a,
		body:       body,
		of:         &body.QueueRef,
		task:       &body.TaskID,
		done:       "Completed",
		holderOnly: true,
	}
	cmd := c.command(&cobra.Command{Use: "complete", Short: "Complete the item you hold"}, "task")
	cmd.Args = takesNoSummary
	return cmd
}

// takesNoSummary refuses a summary, and says which command takes it.
func takesNoSummary(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("`maestro queue complete` takes no summary: report it first with " +
			"`maestro report complete \"<summary>\" --task <taskId>`")
	}
	return Takes(cmd, args)
}

func newQueueFail(a *Run) *cobra.Command {
	body := &commands.FailItem{}
	c := &queueStep{
		Run:        a,
		body:       body,
		of:         &body.QueueRef,
		task:       &body.TaskID,
		done:       "Failed",
		holderOnly: true,
	}
	return c.command(&cobra.Command{Use: `fail ["<reason>"]`, Short: "Fail the item you hold"}, "task")
}

// newQueueSkip: a user who names a queue skips its next item, without a session.
func newQueueSkip(a *Run) *cobra.Command {
	body := &commands.SkipItem{}
	c := &queueStep{
		Run:  a,
		body: body,
		of:   &body.QueueRef,
		task: &body.TaskID,
		done: "Skipped",
	}
	cmd := &cobra.Command{
		Use:   `skip ["<reason>"]`,
		Short: "Skip the item you hold, or the next one if you hold none",
		Long: `Skip the item you hold, or the next one if you hold none. The inbox shows the
reason, and whoever starts the item next is told. Without one, the inbox shows
what you last reported about the task, if that was "blocked" or "error".`,
	}
	return c.command(cmd, "task")
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
)

// queuePush is `maestro queue push`.
type queuePush struct {
	*Run
	o   queueFlags
	key string
}

func newQueuePush(a *Run) *cobra.Command {
	c := &queuePush{Run: a}
	cmd := &cobra.Command{
		Use: "push TASK", Short: "Put a task at the end of a queue", Args: Takes("TASK"),
		RunE: Running(c.run),
	}
	c.o.add(cmd)
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *queuePush) run(ctx context.Context, args []string) error {
	named, err := queueNamed(ctx, c.Run, c.o)
	if err != nil {
		return err
	}
	answer, err := c.send(ctx, "queue:push", &commands.PushItem{OfQueue: named, TaskID: args[0]}, c.key)
	if err != nil {
		return err
	}
	about := args[0]
	if data, err := dataOf(answer); err == nil {
		if pushed, ok := data.(*events.QueueItemPushed); ok {
			about += " to queue " + pushed.Queue
		}
	}
	c.wrote(answer, args[0], "Pushed %s", about)
	return nil
}

// queueCreate is `maestro queue create`.
type queueCreate struct {
	*Run
	body commands.CreateQueue
	key  string
}

func newQueueCreate(a *Run) *cobra.Command {
	c := &queueCreate{Run: a}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a queue that sessions pull from: spawn them with --strategy queue --queue NAME",
		Args:  Takes("NAME"),
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.body.Project)
	cmd.Flags().BoolVar(&c.body.TrustReports, "trust-reports", false,
		"a dependency is also satisfied when an agent says that its task is completed")
	cmd.Flags().IntVar(&c.body.MaxAttempts, "max-attempts", events.DefaultMaxAttempts,
		"starts of an item before it is quarantined")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *queueCreate) run(ctx context.Context, args []string) error {
	if c.body.MaxAttempts < 1 {
		return failure.Usage("--max-attempts must be 1 or more, not %d", c.body.MaxAttempts)
	}
	var err error
	c.body.Queue = args[0]
	if c.body.Project, err = c.project(ctx, c.body.Project); err != nil {
		return err
	}
	return c.change(ctx, "queue:create", &c.body, c.key, c.body.Queue, "Created queue %s", c.body.Queue)
}

// queueRequeue is `maestro queue requeue`.
type queueRequeue struct {
	*Run
	body commands.RequeueItem
	key  string
}

func newQueueRequeue(a *Run) *cobra.Command {
	c := &queueRequeue{Run: a}
	cmd := &cobra.Command{
		Use: "requeue TASK", Short: "Put a quarantined, failed or skipped item at the end again", Args: Takes("TASK"),
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.body.Queue, "queue", "", "the queue; needed when the task is in several")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *queueRequeue) run(ctx context.Context, args []string) error {
	c.body.TaskID = args[0]
	return c.change(ctx, "queue:requeue", &c.body, c.key, args[0], "Queued %s again", args[0])
}

func newQueue(a *Run) *cobra.Command {
	return group(
		"queue",
		"Queues: tasks that sessions pull, one at a time",
		newQueueTop(a),
		newQueueStart(a),
		newQueueComplete(a),
		newQueueFail(a),
		newQueueSkip(a),
		newQueueList(a),
		newQueueStatus(a),
		newQueuePush(a),
		newQueueCreate(a),
		newQueueRequeue(a),
	)
}

// queueFlags say whose queue is meant: a session's own needs none.
type queueFlags struct {
	session, queue, project string
}

func (o *queueFlags) add(cmd *cobra.Command) {
	o.addSession(cmd)
	cmd.Flags().StringVar(&o.queue, "queue", "", "the queue's name, for who names no session")
	projectFlag(cmd, &o.project)
	Exclude(cmd, "session", "queue")
}

// addSession is add for what is done by hand: that is a session's, and each has one queue.
func (o *queueFlags) addSession(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.session, "session", "", "the session; else MAESTRO_SESSION_ID")
}

// queueNamed names the queue to the server.
func queueNamed(ctx context.Context, a *Run, o queueFlags) (commands.OfQueue, error) {
	named := commands.OfQueue{SessionID: o.session, Queue: o.queue}
	if a.isSession() || o.session != "" {
		return named, nil
	}
	if o.queue == "" {
		return named, whichQueue()
	}
	var err error
	named.Project, err = a.project(ctx, o.project)
	return named, err
}

// holderNamed names to the server the session in whose hand an item is or comes.
func holderNamed(a *Run, o queueFlags) (commands.OfQueue, error) {
	if !a.isSession() && o.session == "" {
		return commands.OfQueue{}, failure.Usage("Name a session").WithWhy("only a session can hold an item").
			WithNext("name it with --session; see `maestro session list --active`")
	}
	return commands.OfQueue{SessionID: o.session}, nil
}

func whichQueue() error {
	return failure.Usage("Name a queue").
		WithNext("name it with --queue, or the session with --session; see `maestro queue status`")
}

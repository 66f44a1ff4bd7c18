package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// queuePush is `maestro queue push`.
type queuePush struct {
	*Run
	body commands.PushItem
	key  string
}

func newQueuePush(a *Run) *cobra.Command {
	c := &queuePush{Run: a}
	cmd := &cobra.Command{
		Use:   "push <taskId>…",
		Short: "Put tasks at the end of a queue",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	bindQueue(cmd, &c.body, &c.body.QueueRef)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "queue:push")
}

func (c *queuePush) run(ctx context.Context, args []string) error {
	if err := nameQueue(ctx, c.Run, &c.body.QueueRef, args...); err != nil {
		return err
	}
	of := func(id string) any {
		body := c.body
		body.TaskID = id
		return &body
	}
	if len(args) > 1 {
		return c.each(ctx, args, "queue:push", of, c.key, "Pushed %s")
	}
	answer, err := c.send(ctx, "queue:push", of(args[0]), c.key)
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
	fields *fields
	body   commands.CreateQueue
	key    string
}

func newQueueCreate(a *Run) *cobra.Command {
	c := &queueCreate{Run: a, body: commands.CreateQueue{MaxAttempts: events.DefaultMaxAttempts}}
	cmd := &cobra.Command{
		Use:   "create <name>",
		Short: "Create a queue that sessions pull from",
		Args:  Takes,
		Long: "Create a queue that sessions pull from: spawn them with " +
			"`maestro session spawn --strategy queue --queue <name>`.",
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.body.Project)
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "queue:create", "trust-reports", "max-attempts")
}

func (c *queueCreate) run(ctx context.Context, args []string) error {
	if c.body.MaxAttempts < 1 {
		return failure.Usage("--max-attempts must be 1 or more, not %d", c.body.MaxAttempts)
	}
	err := c.fields.set(args)
	if err != nil {
		return err
	}
	if c.body.Project, err = c.project(ctx, c.body.Project); err != nil {
		return err
	}
	answer, err := c.send(ctx, "queue:create", &c.body, c.key)
	if err != nil {
		return err
	}
	if answer.Event == nil && !c.JSON {
		c.Print("Queue %s already exists\n", safetext.OneLine(c.body.Queue))
		return nil
	}
	c.wrote(answer, c.body.Queue, "Created queue %s", c.body.Queue)
	return nil
}

func newQueueRequeue(a *Run) *cobra.Command {
	body := &commands.RequeueItem{}
	cmd := newItemsChange(a, "requeue <taskId>…", body, "Queued %s again", func(task string) any {
		one := *body
		one.TaskID = task
		return &one
	})
	cmd.Short = "Put items that have ended back at the end of their queue"
	cmd.Long = `Put quarantined, failed or skipped items back at the end of their queue; or
completed ones, if their tasks were reopened. Each item gets its own answer: if
some are refused, the others are still queued again. Whoever starts an item next
is told the --reason.`
	return Tell(cmd, "queue:requeue", "queue", "reason")
}

func newQueue(a *Run) *cobra.Command {
	return a.group(
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
		newQueueMove(a),
		newQueueRemove(a),
		newQueueDelete(a),
	)
}

// bindQueue is bind for a command about a queue: a session's own queue needs no name.
func bindQueue(cmd *cobra.Command, body any, of *commands.QueueRef) *fields {
	f := bind(cmd, body)
	projectFlag(cmd, &of.Project)
	Exclude(cmd, "session", "queue")
	return f
}

// queueFlags declares the flags that identify a query's queue.
func queueFlags(cmd *cobra.Command, of *commands.QueueRef) { bindQueue(cmd, of, of) }

// nameQueue makes sure that the request names a queue, one of the project of the tasks if there are any.
func nameQueue(ctx context.Context, a *Run, of *commands.QueueRef, tasks ...string) error {
	if a.isSession() || of.SessionID != "" {
		of.Project = ""
		return nil
	}
	named, err := namedQueue(ctx, a, *of, tasks...)
	of.Queue, of.Project = named.Name, named.ProjectID
	return err
}

// namedQueue returns a user's queue: the named one, or the only one of the project.
func namedQueue(ctx context.Context, a *Run, of commands.QueueRef, tasks ...string) (wire.QueueOf, error) {
	project, err := a.project(ctx, of.Project, tasks...)
	if err != nil || of.Queue != "" {
		return wire.QueueOf{Name: of.Queue, ProjectID: project}, err
	}
	queues, err := Ask(ctx, a, (*client.Client).Queues, wire.QueueFilter{ProjectID: project})
	switch {
	case err != nil:
		return wire.QueueOf{}, err
	case len(queues) == 0:
		if a.moment != "" {
			return wire.QueueOf{}, failure.Usage("The project had no queue then").WithNext("name another moment")
		}
		none := failure.Usage("The project has no queue")
		if a.mayUse(ctx, "queue:create") {
			none = none.WithNext("create one: `maestro queue create NAME`")
		}
		return wire.QueueOf{}, none
	case len(queues) > 1:
		return wire.QueueOf{}, failure.Usage("Name a queue: the project has %d", len(queues)).
			WithNext("name it with --queue, or the session with --session; see `maestro queue status`")
	}
	return wire.QueueOf{Name: queues[0].Name, ProjectID: project}, nil
}

// nameHolder makes sure that the request names the session that holds an item or gets it.
func nameHolder(a *Run, of *commands.QueueRef) error {
	if !a.isSession() && of.SessionID == "" {
		return a.noSession(failure.Usage("Name a session").WithWhy("only a session can hold an item").
			WithNext("name it with --session; see `maestro session list --active`"))
	}
	return nil
}

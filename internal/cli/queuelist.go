package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// queueShown is a queue with its items, from either route.
type queueShown struct {
	name  string
	items []wire.Item
	more  int
}

// queueOf reads the requested queue.
func queueOf(ctx context.Context, a *Run, o commands.QueueRef, filter wire.QueueName) (queueShown, error) {
	if o.Queue == "" {
		id := o.SessionID
		if id == "" {
			id = a.sessionID()
		}
		if id != "" {
			of := wire.SessionQueueOf{ID: id, Status: filter.Status, Limit: filter.Limit}
			shown, err := Ask(ctx, a, (*client.Client).SessionQueue, of)
			return queueShown{shown.Queue.Name, shown.Queue.Items, shown.Queue.ItemsMore}, err
		}
	}
	of, err := namedQueue(ctx, a, o)
	if err != nil {
		return queueShown{}, err
	}
	filter.Name, filter.ProjectID = of.Name, of.ProjectID
	shown, err := Ask(ctx, a, (*client.Client).Queue, filter)
	return queueShown{shown.Name, shown.Items, shown.ItemsMore}, err
}

// queueTop is `maestro queue top`.
type queueTop struct {
	*Run
	o commands.QueueRef
}

func newQueueTop(a *Run) *cobra.Command {
	c := &queueTop{Run: a}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the item you hold, or the next one, with its task",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	queueFlags(cmd, &c.o)
	return Tell(cmd, "queue:top")
}

func (c *queueTop) run(ctx context.Context, _ []string) error {
	top, err := queueTopOf(ctx, c.Run, c.o)
	if err != nil {
		return err
	}
	c.Result(top, func() {
		if top.Held != nil {
			held := "Held"
			if c.o.SessionID == "" {
				held = "You hold"
			}
			c.Print("%s: %s  %s\n", held, top.Held.TaskID, safetext.OneLine(top.Held.Title))
			showWork(c.Run, top.Work)
		}
		if top.Item == nil {
			c.Print("%s%s\n", top.Message, waitingWords(top.Waiting-top.Over))
			if top.Over > 0 && !c.isSession() {
				c.Print("The tasks of %s are completed or cancelled; `maestro queue remove <taskId>` removes them: "+
					"see `maestro queue list`\n", Many(top.Over, "queued item"))
			}
			return
		}
		c.Print(
			"Next: %s  %s%s\n",
			top.Item.TaskID,
			safetext.OneLine(top.Item.Title),
			passedWords(top.PassedOver),
		)
		if top.Held == nil {
			showWork(c.Run, top.Work)
		}
	})
	return nil
}

// queueTopOf returns the next item of the requested queue.
func queueTopOf(ctx context.Context, a *Run, o commands.QueueRef) (wire.QueueTop, error) {
	id := o.SessionID
	if id == "" {
		id = a.sessionID()
	}
	if id != "" && o.Queue == "" {
		return Ask(ctx, a, (*client.Client).SessionQueueTop, id)
	}
	of, err := namedQueue(ctx, a, o)
	if err != nil {
		return wire.QueueTop{}, err
	}
	return Ask(ctx, a, (*client.Client).QueueTop, of)
}

func waitingWords(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s waiting)", Many(n, "item"))
}

func passedWords(n int) string {
	if n == 0 {
		return ""
	}
	were := "were"
	if n == 1 {
		were = "was"
	}
	return fmt.Sprintf(" (%s before it %s passed over: see `maestro queue list`)", Many(n, "item"), were)
}

// queueList is `maestro queue list`.
type queueList struct {
	*Run
	o      commands.QueueRef
	filter wire.QueueName
}

func newQueueList(a *Run) *cobra.Command {
	c := &queueList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the items of a queue in order, and what they wait for",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	queueFlags(cmd, &c.o)
	bindQuery(cmd, &c.filter)
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "queue", "queue_item")
	a.AtFlag(cmd)
	return Tell(cmd, "queue:list", "status", "limit")
}

func (c *queueList) run(ctx context.Context, _ []string) error {
	queue, err := queueOf(ctx, c.Run, c.o, c.filter)
	if err != nil {
		return err
	}
	none := "No items"
	if c.filter.Status == "" {
		none = "The queue is empty"
	}
	showItems(c.Run, queue.items, none)
	switch {
	case queue.more == 0:
	case c.filter.Limit != "":
		c.Say("maestro: %s more\n", Many(queue.more, "item"))
	default:
		c.Say("maestro: the queue has %s more, mostly finished, that are not listed\n",
			Many(queue.more, "item"))
	}
	return nil
}

// showItems lists the items of a queue.
func showItems(a *Run, items []wire.Item, none string) {
	columns := []string{"TASK", "STATUS", "SESSION", "TITLE", "NOTE"}
	listFitted(a, items, none, columns, func(i wire.Item) []string {
		holder := withName(i.SessionID, i.SessionName)
		if i.Status == events.ItemQueued { // its last holder does not hold it any more
			holder = ""
		}
		return []string{i.TaskID, string(i.Status), holder, safetext.Clip(i.Title, 40), aboutItem(i)}
	})
}

// aboutItem describes the special properties of an item.
func aboutItem(i wire.Item) string {
	words := i.FailReason
	add := func(more string) {
		if words != "" && more != "" {
			words += "; "
		}
		words += more
	}
	add(Prefixed("queued again: ", safetext.OneLine(i.Requeued)))
	if i.Returned {
		add("given back")
	}
	if i.Attempts > 1 {
		add(fmt.Sprintf("attempt %d", i.Attempts))
	}
	add(i.Waits)
	return words
}

// queueStatus is `maestro queue status`.
type queueStatus struct {
	*Run
	project string
}

func newQueueStatus(a *Run) *cobra.Command {
	c := &queueStatus{Run: a}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Count the items of each queue by status",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.project)
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "queue", "queue_item")
	a.AtFlag(cmd)
	return Tell(cmd, "queue:status")
}

func (c *queueStatus) run(ctx context.Context, _ []string) error {
	if c.project == "" {
		c.project = c.Getenv(wire.EnvProjectID)
	}
	queues, err := Ask(ctx, c.Run, (*client.Client).Queues, wire.QueueFilter{ProjectID: c.project})
	if err != nil {
		return err
	}
	columns := []string{"QUEUE", "ITEMS", "REPORTS"}
	row := func(q wire.Queue) []string {
		trust := ""
		if q.TrustReports {
			trust = "reports trusted"
		}
		return []string{q.Name, statsWords(q.Stats, q.Waiting-q.Over, q.Over), trust}
	}
	columns, row = byProject(queues, func(q wire.Queue) string { return q.ProjectID }, columns, row)
	List(c.Run, queues, "No queues", columns, row)
	return nil
}

func statsWords(n wire.QueueStats, waiting, over int) string {
	words := counts(map[string]int{
		"queued":      n.Queued,
		"processing":  n.Processing,
		"completed":   n.Completed,
		"failed":      n.Failed,
		"skipped":     n.Skipped,
		"quarantined": n.Quarantined,
	}, "queued", "processing", "completed", "failed", "skipped", "quarantined")
	if waiting > 0 {
		words += fmt.Sprintf(" (%d of the queued wait)", waiting)
	}
	if over > 0 {
		words += fmt.Sprintf(" (the tasks of %d of the queued are completed or cancelled)", over)
	}
	return words
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func (a *Run) queueCommand() *cobra.Command {
	return group(
		"queue",
		"Queues: tasks that sessions pull, one at a time",
		a.queueTop(),
		a.queueStart(),
		a.queueComplete(),
		a.queueFail(),
		a.queueSkip(),
		a.queueList(),
		a.queueStatus(),
		a.queuePush(),
		a.queueCreate(),
		a.queueRequeue(),
	)
}

// queueFlags say whose queue is meant: a session's own needs none.
type queueFlags struct {
	session, queue, project string
}

func (o *queueFlags) add(cmd *cobra.Command) {
	o.addHand(cmd)
	cmd.Flags().StringVar(&o.queue, "queue", "", "the queue's name, for who names no session")
	projectFlag(cmd, &o.project)
	exclude(cmd, "session", "queue")
}

// addHand is add for what is done by hand: that is a session's, and each has one queue.
func (o *queueFlags) addHand(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.session, "session", "", "the session; else MAESTRO_SESSION_ID")
}

// of names the queue to the server.
func (a *Run) of(ctx context.Context, o queueFlags) (commands.OfQueue, error) {
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

// hand names to the server the session in whose hand an item is or comes.
func (a *Run) hand(o queueFlags) (commands.OfQueue, error) {
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

// queueShown is a queue with its items, however it was asked for.
type queueShown struct {
	name  string
	items []wire.Item
	more  int
}

// queueOf reads the queue that is meant.
func (a *Run) queueOf(ctx context.Context, o queueFlags, status string) (queueShown, error) {
	if o.queue == "" {
		id := o.session
		if id == "" {
			id = a.sessionID()
		}
		if id == "" {
			return queueShown{}, whichQueue()
		}
		shown, err := ask(ctx, a, (*client.Client).SessionQueue, id)
		return queueShown{shown.Queue.Name, shown.Queue.Items, shown.Queue.ItemsMore}, err
	}
	project, err := a.project(ctx, o.project)
	if err != nil {
		return queueShown{}, err
	}
	shown, err := ask(ctx, a, (*client.Client).Queue, wire.QueueName{Name: o.queue, ProjectID: project, Status: status})
	return queueShown{shown.Name, shown.Items, shown.ItemsMore}, err
}

func (a *Run) queueTop() *cobra.Command {
	var o queueFlags
	cmd := &cobra.Command{
		Use: "top", Short: "Show the next item and the one a session holds", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			top, err := a.topOf(ctx, o)
			if err != nil {
				return err
			}
			a.Result(top, func() {
				if top.Held != nil {
					a.Print("In hand: %s  %s\n", top.Held.TaskID, safetext.OneLine(top.Held.Title))
				}
				if top.Item == nil {
					a.Print("%s%s\n", top.Message, waitingWords(top.Waiting))
					return
				}
				a.Print(
					"Next: %s  %s%s\n",
					top.Item.TaskID,
					safetext.OneLine(top.Item.Title),
					passedWords(top.PassedOver),
				)
			})
			return nil
		}),
	}
	o.add(cmd)
	return cmd
}

// topOf gives the next item of the queue that is meant.
func (a *Run) topOf(ctx context.Context, o queueFlags) (wire.QueueTop, error) {
	id := o.session
	if id == "" {
		id = a.sessionID()
	}
	if id != "" && o.queue == "" {
		return ask(ctx, a, (*client.Client).SessionQueueTop, id)
	}
	if o.queue == "" {
		return wire.QueueTop{}, whichQueue()
	}
	project, err := a.project(ctx, o.project)
	if err != nil {
		return wire.QueueTop{}, err
	}
	return ask(ctx, a, (*client.Client).QueueTop, wire.QueueOf{Name: o.queue, ProjectID: project})
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
	return fmt.Sprintf(" (%s before it passed over: see `maestro queue list`)", Many(n, "item"))
}

// startedItem is what `queue start` answers as JSON.
type startedItem struct {
	written
	Item  *wire.Item `json:"item"`
	Empty bool       `json:"empty"`
	Held  bool       `json:"held,omitempty"`
	// Waiting counts queued items that wait for something.
	Waiting int    `json:"waiting"`
	Queue   string `json:"queue,omitempty"`
}

func (a *Run) queueStart() *cobra.Command {
	var o queueFlags
	var key string
	var wait bool
	var timeout time.Duration
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "start",
		Short: "Claim the next item, or show the one you hold",
		Args:  Takes(),
		Long: `Take the next item in hand: its task moves to in_progress and says working. Asked again while one is in hand, it gives
the same one. An item whose task waits for others is passed over. An empty queue is no error: exit 0, and no item.

With --wait it waits until there is an item, for as long as --timeout says (exit 7).`,
		RunE: Running(func(ctx context.Context, _ []string) error {
			if err := timeoutOfWait(cmd, wait, timeout); err != nil {
				return err
			}
			named, err := a.hand(o)
			if err != nil {
				return err
			}
			answer, err := a.start(ctx, &commands.StartItem{OfQueue: named}, key, wait, timeout)
			if err != nil {
				return err
			}
			return a.showStart(answer)
		}),
	}
	o.addHand(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until there is an item")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, such as 10m; for ever if absent")
	a.keyFlag(cmd, &key)
	return cmd
}

// start asks for an item, for as long as it may wait.
func (a *Run) start(
	ctx context.Context,
	body *commands.StartItem,
	key string,
	wait bool,
	timeout time.Duration,
) (answer client.Answer, err error) {
	if !wait || a.dryRun {
		return a.send(ctx, "queue:start", body, key)
	}
	c, err := a.connect(ctx)
	if err != nil {
		return client.Answer{}, err
	}
	over, err := a.inSlices(ctx, c, timeout, func(slice time.Duration) (bool, error) {
		answer, err = c.Do(ctx, "queue:start", body, client.Options{Key: key, Wait: slice})
		return answer.Event != nil || startOf(answer).Item != nil, err
	})
	if err == nil && over {
		err = &failure.Error{
			Status:  http.StatusGatewayTimeout,
			Code:    "TIMED_OUT",
			Message: "There was no item within " + timeout.String(),
			Next:    "ask again; see `maestro queue list` for what the queued items wait for",
		}
	}
	return answer, err
}

// startOf gives what a start came to. A server that does not say so yet tells at least which task an event is about.
func startOf(answer client.Answer) wire.Start {
	if answer.Start != nil {
		return *answer.Start
	}
	data, err := dataOf(answer)
	if started, ok := data.(*events.QueueItemStarted); err == nil && ok {
		return wire.Start{Queue: started.Queue, Item: &wire.Item{
			TaskID: started.TaskID, Status: events.ItemProcessing, Queue: started.Queue,
			SessionID: started.SessionID, Attempts: started.Attempt,
		}}
	}
	return wire.Start{}
}

func (a *Run) showStart(answer client.Answer) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	start := startOf(answer)
	shown := startedItem{
		written: writtenOf(answer, ""), Item: start.Item, Empty: start.Item == nil, Held: start.Held,
		Waiting: start.Waiting, Queue: start.Queue,
	}
	passedOver := 0
	if started, ok := data.(*events.QueueItemStarted); ok {
		passedOver = started.PassedOver
	}
	a.Result(shown, func() {
		switch {
		case shown.Empty:
			a.Print("The queue has nothing to start%s\n", waitingWords(shown.Waiting))
		case shown.Held:
			a.Print("You already hold: %s  %s\n", shown.Item.TaskID, safetext.OneLine(shown.Item.Title))
		default:
			a.Print(
				"Started %s  %s%s%s\n",
				shown.Item.TaskID,
				safetext.OneLine(shown.Item.Title),
				attemptWords(shown.Item.Attempts),
				passedWords(passedOver),
			)
		}
	})
	return nil
}

func attemptWords(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", attempt)
}

// queueStep makes a command that finishes the item in hand.
func (a *Run) queueStep(
	use, short, id, done string,
	body func(commands.OfQueue, string, []string) any,
) *cobra.Command {
	var o queueFlags
	var key, task string
	verb, arguments, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{Use: use, Short: short, Args: Takes(strings.Fields(arguments)...)}
	inHand := verb != "skip" // with nothing in hand, the next item is skipped: a user needs no session for that
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		var named commands.OfQueue
		var err error
		if inHand {
			named, err = a.hand(o)
		} else {
			named, err = a.of(ctx, o)
		}
		if err != nil {
			return err
		}
		answer, err := a.send(ctx, id, body(named, task, args), key)
		if err != nil {
			return err
		}
		about := task
		if fields := taskOf(answer.Event); fields != "" {
			about = fields
		}
		a.wrote(answer, about, "%s %s", done, about)
		return nil
	})
	if inHand {
		o.addHand(cmd)
	} else {
		o.add(cmd)
	}
	cmd.Flags().StringVar(&task, "task", "", "the item; refused if the session holds another one")
	a.keyFlag(cmd, &key)
	return cmd
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

func (a *Run) queueComplete() *cobra.Command {
	return a.queueStep("complete", "Complete the item you hold", "queue:complete", "Completed",
		func(of commands.OfQueue, task string, _ []string) any {
			return &commands.CompleteItem{OfQueue: of, TaskID: task}
		})
}

func (a *Run) queueFail() *cobra.Command {
	return a.queueStep("fail [REASON]", "Fail the item you hold", "queue:fail", "Failed",
		func(of commands.OfQueue, task string, args []string) any {
			return &commands.FailItem{OfQueue: of, TaskID: task, Reason: at(args, 0)}
		})
}

func (a *Run) queueSkip() *cobra.Command {
	return a.queueStep("skip", "Skip the item you hold, or the next one if you hold none", "queue:skip", "Skipped",
		func(of commands.OfQueue, task string, _ []string) any {
			return &commands.SkipItem{OfQueue: of, TaskID: task}
		})
}

func (a *Run) queueList() *cobra.Command {
	var o queueFlags
	var status string
	cmd := &cobra.Command{
		Use: "list", Short: "List the items of a queue, in order", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			queue, err := a.queueOf(ctx, o, status)
			if err != nil {
				return err
			}
			items := []wire.Item{}
			for _, item := range queue.items {
				if status == "" || status == string(item.Status) {
					items = append(items, item)
				}
			}
			none := "There are no such items"
			if status == "" {
				none = "The queue is empty"
			}
			listFitted(a, items, none, func(i wire.Item) []string {
				holder := i.SessionID
				if i.Status == events.ItemQueued { // whoever had it has it no longer
					holder = ""
				}
				return []string{i.TaskID, string(i.Status), holder, safetext.Clip(i.Title, 40), aboutItem(i)}
			})
			if queue.more > 0 {
				a.say("maestro: the queue has %s more, mostly done with, that are not listed\n",
					Many(queue.more, "item"))
			}
			return nil
		}),
	}
	o.add(cmd)
	cmd.Flags().StringVar(&status, "status", "", "only those with this status")
	choice(cmd, "status", "queued", "processing", "completed", "failed", "skipped", "quarantined")
	a.listFlags(cmd)
	return cmd
}

// aboutItem says what is particular about an item.
func aboutItem(i wire.Item) string {
	words := i.FailReason
	add := func(more string) {
		if words != "" && more != "" {
			words += "; "
		}
		words += more
	}
	if i.Returned {
		add("given back")
	}
	if i.Attempts > 1 {
		add(fmt.Sprintf("attempt %d", i.Attempts))
	}
	add(i.Waits)
	return words
}

func (a *Run) queueStatus() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use: "status", Short: "Count the items of each queue by status", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			if project == "" {
				project = a.Getenv("MAESTRO_PROJECT_ID")
			}
			queues, err := ask(ctx, a, (*client.Client).Queues, wire.QueueFilter{ProjectID: project})
			if err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(queues), named{project: project}); err != nil {
				return err
			}
			several := slices.ContainsFunc(
				queues,
				func(q wire.Queue) bool { return q.ProjectID != queues[0].ProjectID },
			)
			list(a, queues, "There are no queues", func(q wire.Queue) []string {
				trust := ""
				if q.TrustReports {
					trust = "trusts reports"
				}
				row := []string{q.Name, statsWords(q.Stats, q.Waiting), trust}
				if several { // a name is the only one in its project
					row = append([]string{q.ProjectID}, row...)
				}
				return row
			})
			return nil
		}),
	}
	projectFlag(cmd, &project)
	a.listFlags(cmd)
	return cmd
}

func statsWords(n wire.QueueStats, waiting int) string {
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
	return words
}

func (a *Run) queuePush() *cobra.Command {
	var o queueFlags
	var key string
	cmd := &cobra.Command{
		Use: "push TASK", Short: "Put a task at the end of a queue", Args: Takes("TASK"),
		RunE: Running(func(ctx context.Context, args []string) error {
			named, err := a.of(ctx, o)
			if err != nil {
				return err
			}
			answer, err := a.send(ctx, "queue:push", &commands.PushItem{OfQueue: named, TaskID: args[0]}, key)
			if err != nil {
				return err
			}
			about := args[0]
			if data, err := dataOf(answer); err == nil {
				if pushed, ok := data.(*events.QueueItemPushed); ok {
					about += " to queue " + pushed.Queue
				}
			}
			a.wrote(answer, args[0], "Pushed %s", about)
			return nil
		}),
	}
	o.add(cmd)
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) queueCreate() *cobra.Command {
	var body commands.CreateQueue
	var key string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a queue that sessions pull from: spawn them with --strategy queue --queue NAME",
		Args:  Takes("NAME"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if body.MaxAttempts < 1 {
				return failure.Usage("--max-attempts must be 1 or more, not %d", body.MaxAttempts)
			}
			var err error
			body.Queue = args[0]
			if body.Project, err = a.project(ctx, body.Project); err != nil {
				return err
			}
			return a.change(ctx, "queue:create", &body, key, body.Queue, "Created queue %s", body.Queue)
		}),
	}
	projectFlag(cmd, &body.Project)
	cmd.Flags().BoolVar(&body.TrustReports, "trust-reports", false,
		"a dependency is also satisfied when an agent says that its task is completed")
	cmd.Flags().IntVar(&body.MaxAttempts, "max-attempts", events.DefaultMaxAttempts,
		"starts of an item before it is quarantined")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) queueRequeue() *cobra.Command {
	var body commands.RequeueItem
	var key string
	cmd := &cobra.Command{
		Use: "requeue TASK", Short: "Put a quarantined, failed or skipped item at the end again", Args: Takes("TASK"),
		RunE: Running(func(ctx context.Context, args []string) error {
			body.TaskID = args[0]
			return a.change(ctx, "queue:requeue", &body, key, args[0], "Queued %s again", args[0])
		}),
	}
	cmd.Flags().StringVar(&body.Queue, "queue", "", "the queue; needed when the task is in several")
	a.keyFlag(cmd, &key)
	return cmd
}

package commands

import (
	"fmt"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CreateQueue creates a queue. Sessions that are spawned with its name pull from it. docs/contract.md, "Queues".
type CreateQueue struct {
	noTexts
	ProjectRef
	Queue        string `json:"queue" arg:"name" doc:"the name of the queue, unique in its project"`
	TrustReports bool   `json:"trustReports,omitempty" doc:"treat a task as done when its agent says so"`
	MaxAttempts  int    `json:"maxAttempts,omitempty" absent:"the default, 3" doc:"starts of an item before it is quarantined; 3 if absent"`
}

// QueueRef identifies a queue in commands: by the session that owns it, or by name.
type QueueRef struct {
	ProjectRef
	SessionID string `json:"sessionId,omitempty" flag:"session <sessionId>" doc:"the session; your own if absent"`
	Queue     string `json:"queue,omitempty" doc:"the queue, if you are a user and name no session"`
}

// PushItem appends a task to a queue (docs/contract.md, "Queues").
type PushItem struct {
	noTexts
	QueueRef
	TaskID string `json:"taskId" doc:"the task"`
}

// StartItem gives a session the first eligible item; one that holds an item keeps it
// (docs/contract.md, "Queues").
type StartItem struct {
	noTexts
	QueueRef
}

// RequeueItem queues an item again, at the end and with no attempts: a quarantined, failed or skipped one, or a
// completed one whose task was reopened.
type RequeueItem struct {
	noTexts
	ProjectRef
	Queue  string `json:"queue,omitempty" doc:"the queue; required when the task is in several"`
	TaskID string `json:"taskId" doc:"the task"`
	Reason string `json:"reason,omitempty" doc:"why, for whoever starts it next"`
}

// ID implements Command.
func (*CreateQueue) ID() string { return "queue:create" }

// ID implements Command.
func (*PushItem) ID() string { return "queue:push" }

// ID implements Command.
func (*StartItem) ID() string { return "queue:start" }

// ID implements Command.
func (*RequeueItem) ID() string { return "queue:requeue" }

func (x *CreateQueue) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

func (x *RequeueItem) project(s *projections.State, by Actor) string {
	if project := s.TaskProject(x.TaskID); project != "" {
		return project
	}
	return x.projectOr(by)
}

func (x QueueRef) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *CreateQueue) Decide(s *projections.State, c Call) (events.Data, error) {
	p, err := project(s, "/project", c.Project)
	if err != nil {
		return nil, err
	}
	if err := ValidID("/queue", x.Queue); err != nil {
		return nil, err
	}
	if x.MaxAttempts < 0 || x.MaxAttempts > maxList {
		return nil, invalid("/maxAttempts", "maxAttempts must be from 1 to %d, not %d", maxList, x.MaxAttempts)
	}
	most := x.MaxAttempts
	if most == 0 {
		most = events.DefaultMaxAttempts
	}
	if q := s.Queue(p.ID, x.Queue); q != nil {
		if q.SessionID == "" && q.TrustReports == x.TrustReports && q.MaxAttempts == most {
			return nil, nil
		}
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Queue '" + x.Queue + "' already exists, with other settings",
			Why:     otherQueue(q, most, x.TrustReports),
			Next:    "choose another name",
		}
	}
	if s.SessionProject(x.Queue) != "" {
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "'" + x.Queue + "' is the id of a session",
			Why:     "a session's own queue has its id as its name",
			Next:    "choose another name",
		}
	}
	return &events.QueueCreated{Queue: x.Queue, TrustReports: x.TrustReports, MaxAttempts: most}, nil
}

// otherQueue says how a queue differs from the requested one.
func otherQueue(q *projections.Queue, attempts int, trusts bool) string {
	if q.SessionID != "" {
		return "it is session " + q.SessionID + "'s own queue"
	}
	var differs []string
	if q.MaxAttempts != attempts {
		differs = append(differs, fmt.Sprintf("its maxAttempts are %d, not %d", q.MaxAttempts, attempts))
	}
	switch {
	case q.TrustReports && !trusts:
		differs = append(differs, "it trusts reports")
	case !q.TrustReports && trusts:
		differs = append(differs, "it does not trust reports")
	}
	return strings.Join(differs, ", and ")
}

func (x *CreateQueue) from(e *events.Event, d *events.QueueCreated) bool {
	*x = CreateQueue{
		ProjectRef:   inProject(e),
		Queue:        d.Queue,
		TrustReports: d.TrustReports,
		MaxAttempts:  d.MaxAttempts,
	}
	return true
}

// find returns the caller's queue, and the session that pulls from it; the session is nil when a user names only the
// queue.
func (x QueueRef) find(s *projections.State, c Call, rule string) (*projections.Queue, *projections.Session, error) {
	if c.By.Kind == ActorUser && x.SessionID == "" {
		if err := ValidID("/queue", x.Queue); err != nil {
			return nil, nil, invalid("/sessionId", "a user names the session, or the queue")
		}
		q := s.Queue(c.Project, x.Queue)
		if q == nil {
			return nil, nil, NoQueue(c.Project, x.Queue)
		}
		return q, nil, nil
	}
	session, err := ownSession(s, c, x.ProjectRef, x.SessionID, rule)
	if err != nil {
		return nil, nil, err
	}
	if session.Strategy != events.StrategyQueue {
		return nil, nil, invalid("/sessionId", "Session %s does not use queue strategy", session.ID)
	}
	q := s.Queue(session.ProjectID, session.Queue)
	switch {
	case session.Queue == "":
		return nil, nil, notFound("Queue", session.ID)
	case q == nil:
		return nil, nil, QueueDeleted(session)
	case x.Queue != "" && x.Queue != q.Name:
		return nil, nil, notAllowed(
			rule,
			"a session pulls from the queue that it was spawned with",
			"its queue is "+q.Name,
			"Session '%s' may not use queue '%s'",
			session.ID,
			safetext.Printable(x.Queue),
		)
	}
	return q, session, nil
}

// QueueDeleted is the answer to a session whose queue was deleted.
func QueueDeleted(session *projections.Session) error {
	return &Refusal{
		Code:    CodeNotFound,
		Message: "Queue '" + session.Queue + "' was deleted",
		Why:     "session " + session.ID + " pulls from this queue only",
		Next:    "end the session with `maestro session complete`",
	}
}

// Decide implements Command.
func (x *PushItem) Decide(s *projections.State, c Call) (events.Data, error) {
	q, _, err := x.find(s, c, x.ID())
	if err != nil {
		return nil, err
	}
	if err := ValidID("/taskId", x.TaskID); err != nil {
		return nil, err
	}
	t := s.Task(x.TaskID)
	if t == nil {
		return nil, notFound("Task", x.TaskID)
	}
	if t.ProjectID != q.ProjectID {
		return nil, elsewhere("/taskId", "Task", t.ID, q.ProjectID)
	}
	if item := s.Item(q.ProjectID, q.Name, t.ID); item != nil {
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Task " + t.ID + " already in queue",
			Why:     "it is " + string(item.Status) + " in queue " + q.Name,
			Next:    nextOfItem(s, item),
		}
	}
	if err := noneCancelled(s, c, t.ID); err != nil {
		return nil, err
	}
	g := graphOf(s, c)
	if err := g.queues(t.ID); err != nil {
		return nil, err
	}
	if err := g.enters("/taskId", q, t.ID); err != nil {
		return nil, err
	}
	return &events.QueueItemPushed{Queue: q.Name, TaskID: t.ID}, nil
}

func (x *PushItem) from(e *events.Event, d *events.QueueItemPushed) bool {
	*x = PushItem{QueueRef: queueOf(e, d.Queue, ""), TaskID: d.TaskID}
	return true
}

// Decide implements Command.
func (x *StartItem) Decide(s *projections.State, c Call) (events.Data, error) {
	q, session, err := x.find(s, c, x.ID())
	switch {
	case err != nil:
		return nil, err
	case session == nil:
		return nil, invalid("/sessionId", "sessionId is required: only a session can hold an item")
	case session.Ended():
		return nil, ended(s, x.ID(), session)
	case session.Lost():
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session '" + session.ID + "' is lost, and cannot hold an item",
			Why:     "it sent nothing for longer than its lease",
			Next:    "run any command in it",
		}
	case s.Holds(session) != nil:
		return nil, nil
	case thirdOn(c.Rules) && session.Status == events.SessionSaidDone:
		return nil, isDone(s, session, c, "gets no more items", "nobody would work on the item")
	}
	top, passedOver := s.Top(q)
	if top == nil {
		return nil, nil
	}
	return &events.QueueItemStarted{
		Queue:      q.Name,
		TaskID:     top.TaskID,
		SessionID:  session.ID,
		Attempt:    top.Attempts + 1,
		PassedOver: passedOver,
	}, nil
}

// isDone refuses what a session that reported that it is done may not do with items.
func isDone(s *projections.State, session *projections.Session, c Call, what, why string) *Refusal {
	return &Refusal{
		Code:    CodeConflict,
		Message: "Session '" + session.ID + "' reported that it is done, and " + what,
		Why:     why,
		Next:    afterDone(s, session, c),
	}
}

// afterDone returns the next step for a session that reported that it is done: it stops, and others give out its work.
func afterDone(s *projections.State, session *projections.Session, c Call) string {
	if c.By.Kind == ActorSession {
		return NextAfterEnd
	}
	return "a new session takes it: `" + s.Successor(session) + "`"
}

func (x *StartItem) from(e *events.Event, d *events.QueueItemStarted) bool {
	*x = StartItem{QueueRef: queueOf(e, d.Queue, d.SessionID)}
	return true
}

// Decide implements Command.
func (x *RequeueItem) Decide(s *projections.State, c Call) (events.Data, error) {
	if err := ValidID("/taskId", x.TaskID); err != nil {
		return nil, err
	}
	if s.Task(x.TaskID) == nil {
		return nil, notFound("Task", x.TaskID)
	}
	queue := x.Queue
	if queue == "" {
		var err error
		if queue, err = onlyQueueOf(s, x.TaskID); err != nil {
			return nil, err
		}
	}
	item, err := itemOf(s, c.Project, queue, x.TaskID)
	if err != nil {
		return nil, err
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	switch {
	case item.Status == events.ItemQueued && x.Reason != "" && x.Reason != item.Requeued:
		return nil, &Refusal{
			Code: CodeConflict,
			Message: "Task " + item.TaskID + " is queued in queue " + item.Queue +
				" already, and the reason is not stored",
			Why:  "a reason belongs to the change that it is for",
			Next: "add it to the task with `maestro task edit " + item.TaskID + "`",
		}
	case item.Status == events.ItemQueued:
		return nil, nil
	case s.Requeueable(item):
		if err := noneCancelled(s, c, item.TaskID); err != nil {
			return nil, err
		}
		if err := graphOf(s, c).enters("/taskId", s.Queue(c.Project, item.Queue), item.TaskID); err != nil {
			return nil, err
		}
		return &events.QueueItemRequeued{Queue: item.Queue, TaskID: item.TaskID, Reason: x.Reason}, nil
	}
	return nil, &Refusal{
		Code:    CodeConflict,
		Message: "Task " + item.TaskID + " is " + string(item.Status) + " in queue " + item.Queue,
		Why: "only an item that is quarantined, failed or skipped, or completed with its task " +
			"reopened, can be queued again",
		Next: nextOfItem(s, item),
	}
}

// nextOfItem says how the item's task gets through its queue once more.
func nextOfItem(s *projections.State, item *projections.Item) string {
	again := "`maestro queue requeue " + item.TaskID + " --queue " + item.Queue + "`"
	switch {
	case s.Requeueable(item):
		return "queue it again with " + again
	case item.Status == events.ItemCompleted:
		return "reopen the task with `maestro task reopen " + item.TaskID + " \"…\"`, then queue it again with " + again
	default:
		return "nothing to do: see `maestro queue list --queue " + item.Queue + "`"
	}
}

func (x *RequeueItem) from(e *events.Event, d *events.QueueItemRequeued) bool {
	*x = RequeueItem{
		ProjectRef: inProject(e),
		Queue:      d.Queue,
		TaskID:     d.TaskID,
		Reason:     d.Reason,
	}
	return true
}

// Warnings implements Warner.
func (x *RequeueItem) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	requeued, ok := data.(*events.QueueItemRequeued)
	if !ok {
		return nil
	}
	if t := s.Task(x.TaskID); t != nil {
		warnings = alsoHad(s, t, "", requeued.Queue)
	}
	return append(warnings, alsoQueued(s, x.TaskID, requeued.Queue)...)
}

func itemOf(s *projections.State, project, queue, task string) (*projections.Item, error) {
	item := s.Item(project, queue, task)
	if item == nil && s.Queue(project, queue) == nil {
		return nil, NoQueue(project, queue)
	}
	if item == nil {
		return nil, &Refusal{
			Code:    CodeNotFound,
			Message: "Task '" + safetext.Printable(task) + "' is not in queue '" + safetext.Printable(queue) + "'",
			Why:     "it was never pushed to that queue, or it was removed from it",
			Next: "add it with `maestro queue push " + safetext.Quoted(task) + " --queue " +
				safetext.Quoted(queue) + "`",
		}
	}
	return item, nil
}

// queueOf returns how a command referred to its queue: a user gives its name or the session that the user acts for.
func queueOf(e *events.Event, queue, session string) QueueRef {
	named := QueueRef{ProjectRef: inProject(e), SessionID: session}
	if session == "" {
		named.Queue = queue
	}
	return named
}

package api

import (
	"context"
	"errors"
	"net/http"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

type queueFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
}

type queueName struct {
	Name      string `path:"name" doc:"the queue"`
	ProjectID string `query:"projectId" doc:"its project; a session's own if absent"`
	Status    string `query:"status" doc:"only items with this status"`
}

// queueBody shows a queue with its items.
type queueBody struct {
	projections.QueueView
	Items []projections.ItemView `json:"items"`
}

// sessionQueue shows a session's queue as older clients know it, with more members.
type sessionQueue struct {
	Queue sessionQueueBody       `json:"queue"`
	Stats projections.QueueStats `json:"stats"`
}

type sessionQueueBody struct {
	SessionID    string                 `json:"sessionId"`
	Strategy     events.Strategy        `json:"strategy"`
	Items        []projections.ItemView `json:"items"`
	CurrentIndex int                    `json:"currentIndex"`
	CreatedAt    int64                  `json:"createdAt"`
	UpdatedAt    int64                  `json:"updatedAt"`
	Name         string                 `json:"name"`
	TrustReports bool                   `json:"trustReports"`
	MaxAttempts  int                    `json:"maxAttempts"`
	Ready        int                    `json:"ready"`
	Waiting      int                    `json:"waiting"`
}

type queueItems struct {
	Items []projections.ItemView `json:"items"`
	Stats projections.QueueStats `json:"stats"`
}

// queueTop is the next item, also while another is in hand.
type queueTop struct {
	HasMore bool                  `json:"hasMore"`
	Item    *projections.ItemView `json:"item"`
	Message string                `json:"message,omitempty"`
	// Held is the item that the session has in hand.
	Held *projections.ItemView `json:"held,omitempty"`
	// PassedOver counts the items before it that wait for something, Waiting all that do.
	PassedOver int    `json:"passedOver"`
	Waiting    int    `json:"waiting"`
	Queue      string `json:"queue"`
}

// queueStep is what older clients get for a step of a queue.
type queueStep struct {
	Success       bool                  `json:"success"`
	Item          *projections.ItemView `json:"item,omitempty"`
	CompletedItem *projections.ItemView `json:"completedItem,omitempty"`
	FailedItem    *projections.ItemView `json:"failedItem,omitempty"`
	SkippedItem   *projections.ItemView `json:"skippedItem,omitempty"`
	NextItem      *projections.ItemView `json:"nextItem"`
	HasMore       bool                  `json:"hasMore"`
	Message       string                `json:"message"`
}

// queueStarted is what older clients get for a start.
type queueStarted struct {
	Success bool                  `json:"success"`
	Item    *projections.ItemView `json:"item"`
	Empty   bool                  `json:"empty,omitempty"`
	Message string                `json:"message"`
}

type queuePushed struct {
	Success bool                  `json:"success"`
	Item    *projections.ItemView `json:"item"`
}

func (s *server) queueRoutes() {
	read(s, op{
		path:    "/api/queues",
		name:    "queue-names",
		summary: "The queues that the caller may see, in order of creation",
	}, listQueues)
	read(s, op{path: "/api/queues/{name}", name: "queue-list", summary: "A queue with its items"}, getQueue)
	read(s, op{
		path:    "/api/sessions/{id}/queue",
		name:    "session-queue",
		summary: "The queue that a session pulls from",
	}, getSessionQueue)
	read(s, op{
		path:    "/api/sessions/{id}/queue/items",
		name:    "session-queue-items",
		summary: "The items of the queue that a session pulls from",
	}, getSessionQueueItems)
	read(s, op{
		path:    "/api/sessions/{id}/queue/top",
		name:    "queue-top",
		summary: "The next item that may be started",
	}, getQueueTop)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/start",
		name:    "queue-start",
		summary: "Start the next item",
	}, s.startItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/complete",
		name:    "queue-complete",
		summary: "Complete the item in hand",
	}, s.completeItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/fail",
		name:    "queue-fail",
		summary: "Fail the item in hand",
		body:    failReason{},
		row:     "queue:fail",
	}, s.failItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/skip",
		name:    "queue-skip",
		summary: "Skip the item in hand, or the next one",
	}, s.skipItem)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/queue/push",
		name:    "queue-push",
		summary: "Put a task at the end",
		body:    pushedTask{},
		row:     "queue:push",
	}, s.pushItem)
}

type failReason struct {
	Reason string `json:"reason,omitempty"`
}

type pushedTask struct {
	TaskID string `json:"taskId"`
}

func listQueues(v view, in *queueFilter) ([]projections.QueueView, error) {
	projects, err := v.projects("queue:status", in.ProjectID)
	if err != nil {
		return nil, err
	}
	views := []projections.QueueView{}
	for _, p := range projects {
		for q := range v.Queues(p.ID) {
			views = append(views, v.QueueView(q))
		}
	}
	return views, nil
}

func getQueue(v view, in *queueName) (queueBody, error) {
	project := in.ProjectID
	if project == "" {
		project = v.call.by.Project
	}
	if err := v.permit("queue:list", project); err != nil {
		return queueBody{}, err
	}
	q := v.Queue(project, in.Name)
	if q == nil {
		return queueBody{}, notFound("Queue", in.Name)
	}
	body := queueBody{v.QueueView(q), []projections.ItemView{}}
	for _, item := range v.ItemViews(q) {
		if in.Status == "" || in.Status == string(item.Status) {
			body.Items = append(body.Items, item)
		}
	}
	return body, nil
}

// sessionQueue gives a session with the queue that it pulls from. Its answers come in the order that older clients
// know.
func (v view) sessionQueue(row, id string) (*projections.Session, *projections.Queue, error) {
	x := v.Session(id)
	// Without a credential the path is all that is known of the caller, who then learns what older servers told.
	if v.call.anonymous && x != nil && x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	x, err := v.session(row, id)
	if err != nil {
		return nil, nil, err
	}
	if x.Strategy != events.StrategyQueue {
		return nil, nil, otherStrategy(id)
	}
	q := v.Queue(x.ProjectID, x.Queue)
	if x.Queue == "" || q == nil {
		return nil, nil, notFound("Queue", x.ID)
	}
	return x, q, nil
}

func otherStrategy(session string) error {
	return invalid("", "Session %s does not use queue strategy", session)
}

func getSessionQueue(v view, in *sessionID) (sessionQueue, error) {
	x, q, err := v.sessionQueue("queue:list", in.ID)
	if err != nil {
		return sessionQueue{}, err
	}
	shown := v.QueueView(q)
	body := sessionQueueBody{
		SessionID:    x.ID,
		Strategy:     x.Strategy,
		Items:        v.ItemViews(q),
		CurrentIndex: -1,
		CreatedAt:    q.CreatedAt,
		UpdatedAt:    q.UpdatedAt,
		Name:         q.Name,
		TrustReports: q.TrustReports,
		MaxAttempts:  q.MaxAttempts,
		Ready:        shown.Ready,
		Waiting:      shown.Waiting,
	}
	for i, item := range body.Items {
		if item.Status == events.ItemProcessing && item.SessionID == x.ID {
			body.CurrentIndex = i
		}
	}
	return sessionQueue{body, q.Stats}, nil
}

func getSessionQueueItems(v view, in *sessionID) (queueItems, error) {
	_, q, err := v.sessionQueue("queue:list", in.ID)
	if err != nil {
		return queueItems{}, err
	}
	return queueItems{v.ItemViews(q), q.Stats}, nil
}

const queueEmpty = "Queue is empty - all tasks processed"

func getQueueTop(v view, in *sessionID) (queueTop, error) {
	x, q, err := v.sessionQueue("queue:top", in.ID)
	if err != nil {
		return queueTop{}, err
	}
	top := queueTop{Queue: q.Name, Waiting: v.QueueView(q).Waiting}
	if held := v.Holds(x); held != nil {
		top.Held = new(v.ItemView(q, held))
	}
	item, passedOver := v.Top(q)
	top.PassedOver = passedOver
	if item != nil {
		top.Item, top.HasMore = new(v.ItemView(q, item)), true
		return top, nil
	}
	top.Message = queueEmpty
	if q.Stats.Queued > 0 {
		top.Message = "Nothing can be started now: what is queued waits for something"
	}
	return top, nil
}

// ofSessionQueue checks what older clients are told before anything else about a session's queue.
func (s *server) ofSessionQueue(c *call, row, id string) (err error) {
	s.Handler.View(func(state *projections.State) { _, _, err = view{state, s, c}.sessionQueue(row, id) })
	return err
}

// queueCommand brings a command on a session's queue through. That the state forbids a step is a 400 to older
// clients.
func (s *server) queueCommand(
	ctx context.Context, c *call, session string, command commands.Command,
) (engine.Answer, error) {
	if err := s.ofSessionQueue(c, command.ID(), session); err != nil {
		return engine.Answer{}, err
	}
	answer, err := s.do(ctx, c, c.by, command, "")
	var refusal *commands.Refusal
	if errors.As(err, &refusal) && refusal.Code == commands.CodeConflict {
		p := routeInvalid("", refusal.Message)
		p.StatusCode, p.Why, p.Next = http.StatusBadRequest, refusal.Why, refusal.Next
		return answer, p
	}
	return answer, err
}

func ofQueueSession(id string) commands.OfQueue { return commands.OfQueue{SessionID: id} }

// itemsOf shows an item and the next one of a session's queue.
func (s *server) itemsOf(session, task string) (item, next *projections.ItemView) {
	s.Handler.View(func(state *projections.State) {
		x := state.Session(session)
		if x == nil {
			return
		}
		q := state.Queue(x.ProjectID, x.Queue)
		if i := state.Item(x.ProjectID, x.Queue, task); i != nil {
			item = new(state.ItemView(q, i))
		}
		if top, _ := state.Top(q); top != nil {
			next = new(state.ItemView(q, top))
		}
	})
	return item, next
}

func (s *server) startItem(ctx context.Context, c *call, in *sessionID) (queueStarted, error) {
	answer, err := s.queueCommand(ctx, c, in.ID, &commands.StartItem{OfQueue: ofQueueSession(in.ID)})
	if err != nil {
		return queueStarted{}, err
	}
	if started, ok := answer.Data.(*events.QueueItemStarted); ok {
		item, _ := s.itemsOf(in.ID, started.TaskID)
		return queueStarted{Success: true, Item: item, Message: "Started processing task " + started.TaskID}, nil
	}
	var held string
	var queued int
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(in.ID); x != nil {
			if item := state.Holds(x); item != nil {
				held = item.TaskID
			}
			queued = state.Queue(x.ProjectID, x.Queue).Stats.Queued
		}
	})
	if held != "" && queued > 0 {
		p := routeInvalid("", "Already processing task "+held+". Complete or fail it first.")
		p.StatusCode = http.StatusBadRequest
		return queueStarted{}, p
	}
	return queueStarted{Success: true, Empty: true, Message: "Queue is empty — no items to process"}, nil
}

// step tells older clients of an item that is finished and of the next one.
func (s *server) step(session, task, verb string) (item *projections.ItemView, step queueStep) {
	item, next := s.itemsOf(session, task)
	step = queueStep{
		Success:  true,
		NextItem: next,
		HasMore:  next != nil,
		Message:  verb + " " + task + ". Queue is empty.",
	}
	if next != nil {
		step.Message = verb + " " + task + ". Next: " + next.TaskID
	}
	return item, step
}

func (s *server) completeItem(ctx context.Context, c *call, in *sessionID) (queueStep, error) {
	answer, err := s.queueCommand(ctx, c, in.ID, &commands.CompleteItem{OfQueue: ofQueueSession(in.ID)})
	if err != nil {
		return queueStep{}, err
	}
	done, ok := answer.Data.(*events.QueueItemCompleted)
	if !ok {
		return queueStep{}, unexpected("queue:complete", answer)
	}
	item, step := s.step(in.ID, done.TaskID, "Completed")
	step.CompletedItem = item
	return step, nil
}

func (s *server) failItem(ctx context.Context, c *call, in *sessionID) (queueStep, error) {
	var body failReason
	if err := c.decode(&body); err != nil {
		return queueStep{}, err
	}
	answer, err := s.queueCommand(ctx, c, in.ID, &commands.FailItem{
		OfQueue: ofQueueSession(in.ID),
		Reason:  body.Reason,
	})
	if err != nil {
		return queueStep{}, err
	}
	failed, ok := answer.Data.(*events.QueueItemFailed)
	if !ok {
		return queueStep{}, unexpected("queue:fail", answer)
	}
	item, step := s.step(in.ID, failed.TaskID, "Failed")
	step.FailedItem = item
	return step, nil
}

func (s *server) skipItem(ctx context.Context, c *call, in *sessionID) (queueStep, error) {
	answer, err := s.queueCommand(ctx, c, in.ID, &commands.SkipItem{OfQueue: ofQueueSession(in.ID)})
	if err != nil {
		return queueStep{}, err
	}
	skipped, ok := answer.Data.(*events.QueueItemSkipped)
	if !ok {
		return queueStep{}, unexpected("queue:skip", answer)
	}
	item, step := s.step(in.ID, skipped.TaskID, "Skipped")
	step.SkippedItem = item
	return step, nil
}

func (s *server) pushItem(ctx context.Context, c *call, in *sessionID) (queuePushed, error) {
	var body pushedTask
	if err := c.decode(&body); err != nil {
		return queuePushed{}, err
	}
	if err := s.ofSessionQueue(c, "queue:push", in.ID); err != nil {
		return queuePushed{}, err
	}
	if body.TaskID == "" {
		return queuePushed{}, routeInvalid("/taskId", "taskId is required")
	}
	if _, err := s.queueCommand(ctx, c, in.ID, &commands.PushItem{
		OfQueue: ofQueueSession(in.ID),
		TaskID:  body.TaskID,
	}); err != nil {
		return queuePushed{}, err
	}
	item, _ := s.itemsOf(in.ID, body.TaskID)
	return queuePushed{true, item}, nil
}

package compat

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// queueStep is the answer to older clients for a step of a queue.
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

// queueStarted is the answer to older clients for a start.
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

type failReason struct {
	Reason string `json:"reason,omitempty"`
}

type pushedTask struct {
	TaskID string `json:"taskId"`
}

// checkSessionQueue makes the checks that come first for older clients of a session's queue.
func (s *compat) checkSessionQueue(c *call, row, id string) (err error) {
	s.Handler.View(func(state *projections.State) { _, _, err = sessionQueue(s.At(state, c.Caller), row, id) })
	return err
}

// queueCommand executes a command on a session's queue. A step that the state forbids is a 400 to older clients.
func (s *compat) queueCommand(
	ctx context.Context, c *call, session string, command commands.Command,
) (engine.Answer, error) {
	if err := s.checkSessionQueue(c, command.ID(), session); err != nil {
		return engine.Answer{}, err
	}
	answer, err := s.do(ctx, c, c.By, command, "")
	var refusal *commands.Refusal
	if errors.As(err, &refusal) && refusal.Code == commands.CodeConflict {
		p := service.InvalidRequest("", refusal.Message)
		if errors.Is(err, commands.ErrHoldsNothing) {
			p.Message = `No item currently being processed. Run "start" first.`
		}
		p.Domain, p.Why, p.Next = true, refusal.Why, refusal.Next
		return answer, p
	}
	return answer, err
}

func queueOfSession(id string) commands.QueueRef { return commands.QueueRef{SessionID: id} }

// itemsOf returns an item and the next one of a session's queue.
func (s *compat) itemsOf(session, task string) (item, next *projections.ItemView) {
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

func (s *compat) startItem(ctx context.Context, c *call, in *wire.SessionID) (queueStarted, error) {
	answer, err := s.queueCommand(ctx, c, in.ID, &commands.StartItem{QueueRef: queueOfSession(in.ID)})
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
		p := service.InvalidRequest("", "Already processing task "+held+". Complete or fail it first.")
		p.Domain = true
		return queueStarted{}, p
	}
	return queueStarted{Success: true, Empty: true, Message: "Queue is empty — no items to process"}, nil
}

// end ends the item that a session holds, and shows older clients that item and the next one.
func (s *compat) end(ctx context.Context, c *call, session string, command commands.Command, verb string) (
	item *projections.ItemView, step queueStep, err error,
) {
	answer, err := s.queueCommand(ctx, c, session, command)
	if err != nil {
		return nil, queueStep{}, err
	}
	ended, ok := answer.Data.(events.EndsItem)
	if !ok {
		return nil, queueStep{}, unexpected(command.ID(), answer)
	}
	task := ended.EndedTask()
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
	return item, step, nil
}

func (s *compat) completeItem(ctx context.Context, c *call, in *wire.SessionID) (queueStep, error) {
	item, step, err := s.end(ctx, c, in.ID, &commands.CompleteItem{QueueRef: queueOfSession(in.ID)}, "Completed")
	step.CompletedItem = item
	return step, err
}

func (s *compat) failItem(ctx context.Context, c *call, in *wire.SessionID) (queueStep, error) {
	var body failReason
	if err := c.decode(ctx, &body); err != nil {
		return queueStep{}, err
	}
	fail := &commands.FailItem{QueueRef: queueOfSession(in.ID), Reason: body.Reason}
	item, step, err := s.end(ctx, c, in.ID, fail, "Failed")
	step.FailedItem = item
	return step, err
}

func (s *compat) skipItem(ctx context.Context, c *call, in *wire.SessionID) (queueStep, error) {
	item, step, err := s.end(ctx, c, in.ID, &commands.SkipItem{QueueRef: queueOfSession(in.ID)}, "Skipped")
	step.SkippedItem = item
	return step, err
}

func (s *compat) pushItem(ctx context.Context, c *call, in *wire.SessionID) (queuePushed, error) {
	var body pushedTask
	if err := c.decode(ctx, &body); err != nil {
		return queuePushed{}, err
	}
	if err := s.checkSessionQueue(c, "queue:push", in.ID); err != nil {
		return queuePushed{}, err
	}
	if body.TaskID == "" {
		return queuePushed{}, service.InvalidRequest("/taskId", "taskId is required")
	}
	if _, err := s.queueCommand(ctx, c, in.ID, &commands.PushItem{
		QueueRef: queueOfSession(in.ID),
		TaskID:   body.TaskID,
	}); err != nil {
		return queuePushed{}, err
	}
	item, _ := s.itemsOf(in.ID, body.TaskID)
	return queuePushed{true, item}, nil
}

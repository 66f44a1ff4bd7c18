package commands

import (
	"errors"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// FailItem fails the held item. docs/contract.md, "Queues".
type FailItem struct {
	noTexts
	QueueRef
	TaskID string `json:"taskId,omitempty" flag:"task <taskId>" doc:"the task of the held item; refused if you hold another"`
	Reason string `json:"reason,omitempty" doc:"why it failed"`
}

// ID implements Command.
func (*FailItem) ID() string { return "queue:fail" }

// Decide implements Command.
func (x *FailItem) Decide(s *projections.State, c Call) (events.Data, error) {
	if x.saidAlready(s, c, x.TaskID, events.ItemFailed) {
		return nil, x.saysAnew(s, c)
	}
	item, err := x.holding(s, c, x.ID(), x.TaskID)
	if err != nil {
		return nil, x.sayingMore(s, c, err)
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	return &events.QueueItemFailed{
		Queue:     item.Queue,
		TaskID:    item.TaskID,
		SessionID: item.SessionID,
		Reason:    x.Reason,
	}, nil
}

// saysAnew refuses a reason for an item that failed without it: the item keeps the one it has.
func (x *FailItem) saysAnew(s *projections.State, c Call) error {
	_, session, err := x.find(s, c, x.ID())
	if err != nil {
		return err
	}
	item := s.Item(session.ProjectID, session.Queue, x.TaskID)
	if !thirdOn(c.Rules) || item == nil || x.Reason == "" || x.Reason == item.FailReason {
		return nil
	}
	why := "no reason was given then, and an item's reason is not changed"
	if item.FailReason != "" {
		why = "the reason given then stays: " + safetext.Clip(item.FailReason, shownReason)
	}
	return &Refusal{
		Code:    CodeConflict,
		Message: "The item of task " + x.TaskID + " has failed already, and the new reason is not stored",
		Why:     why,
		Next:    "report it with `maestro report error \"<reason>\" --task " + x.TaskID + "`",
	}
}

// sayingMore adds to a refusal how a session says more about the item that it failed last.
func (x *FailItem) sayingMore(s *projections.State, c Call, err error) error {
	var refusal *Refusal
	if x.Reason == "" || !errors.As(err, &refusal) || !errors.Is(err, ErrHoldsNothing) {
		return err
	}
	_, session, findErr := x.find(s, c, x.ID())
	if findErr != nil || session == nil || session.LastItem == nil {
		return err
	}
	last := s.Item(session.ProjectID, session.LastItem.Queue, session.LastItem.TaskID)
	if last == nil || last.Status != events.ItemFailed {
		return err
	}
	refusal.Next = "report more about it with `maestro report error \"<reason>\" --task " + last.TaskID +
		"`; claim the next item with `maestro queue start`"
	return refusal
}

func (x *FailItem) from(e *events.Event, d *events.QueueItemFailed) bool {
	*x = FailItem{QueueRef: queueOf(e, d.Queue, d.SessionID), TaskID: d.TaskID, Reason: d.Reason}
	return true
}

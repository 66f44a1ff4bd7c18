package service

import (
	"cmp"
	"context"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// startOf returns the item that a caller of queue:start now holds, so that nobody has to read the queue for it. The
// caller of a retry sees it only while it may use the command.
func (s *Service) startOf(
	ctx context.Context, c *Caller, start *commands.StartItem, answer engine.Answer,
) (told *wire.Start) {
	var blobs events.Blobs
	var before *earlier
	s.Handler.View(func(state *projections.State) {
		x := state.Session(cmp.Or(start.SessionID, c.By.Name))
		if x == nil || answer.Retried && s.At(state, c).Permit(start.ID(), x.ProjectID) != nil {
			return
		}
		q := state.Queue(x.ProjectID, x.Queue)
		if q == nil {
			return
		}
		told = &wire.Start{Queue: q.Name, Waiting: state.QueueView(q).Waiting, Finished: state.Finished(q)}
		item := state.Holds(x)
		if event, ok := answer.Data.(*events.QueueItemStarted); ok {
			item = state.Item(x.ProjectID, event.Queue, event.TaskID)
		} else {
			told.Held = item != nil
		}
		if item != nil {
			told.Item, told.Work = new(state.ItemView(q, item)), s.At(state, c).workOf(item)
			if t := state.Task(item.TaskID); t != nil {
				v := s.At(state, c)
				v.ctx = ctx
				blobs, before = t.Blobs, v.earlierOn(t, x.ID)
			}
		}
	})
	if told != nil && told.Work != nil {
		s.wholeWork(ctx, c, told.Work, blobs)
		if before != nil {
			told.Work.Earlier = before.words(told.Work)
		}
	}
	return told
}

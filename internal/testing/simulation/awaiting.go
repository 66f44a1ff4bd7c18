package simulation

import (
	"context"
	"maps"
	"slices"
	"testing/synctest"

	"maestro/engine"
	"maestro/projections"
)

// awaited is something that callers of a server may wait for.
type awaited struct {
	holds func(*projections.State) bool
	// queue is the queue whose items are waited for; nil if keys are waited for.
	queue *projections.Queue
	keys  []engine.Key
}

// wait returns when a has happened.
func (a awaited) wait(ctx context.Context, h *engine.Handler) {
	if a.queue == nil {
		_ = h.Await(ctx, a.holds, a.keys...)
		return
	}
	never := func(*projections.State) bool { return false }
	if turn, err := h.AwaitItem(ctx, a.queue.ProjectID, a.queue.Name, never); err == nil {
		turn.End()
	}
}

// awaitable returns everything that callers can wait for in this state: an item that may be started, an answer, the end
// of a session.
func awaitable(s *projections.State) map[string]awaited {
	all := map[string]awaited{}
	for p := range s.Projects() {
		for q := range s.Queues(p.ID) {
			all["an item of queue "+queueID(q.ProjectID, q.Name)] = awaited{holds: func(s *projections.State) bool {
				top, _ := s.Top(s.Queue(q.ProjectID, q.Name))
				return top != nil
			}, queue: q}
		}
		for x := range s.Inputs(p.ID) {
			keys := []engine.Key{
				{Kind: projections.KindInput, ID: x.ID},
				{Kind: projections.KindSession, ID: x.SessionID},
			}
			all["an answer to "+x.ID] = awaited{holds: func(s *projections.State) bool {
				return s.InputStatus(s.Input(x.ID)) != projections.InputOpen
			}, keys: keys}
		}
		for x := range s.Sessions(p.ID) {
			key := engine.Key{Kind: projections.KindSession, ID: x.ID}
			all["what becomes of session "+x.ID] = awaited{
				holds: func(s *projections.State) bool { return s.Gone(x.ID) != "" },
				keys:  []engine.Key{key},
			}
		}
	}
	return all
}

// judgeWaiters checks that a server wakes its waiting callers when what they wait for has happened, and adds a waiting
// caller for everything that has not.
func (s *server) judgeWaiters() *Failure {
	var came, comes map[string]awaited
	s.handler.View(func(state *projections.State) {
		came, comes = map[string]awaited{}, awaitable(state)
		for what, a := range comes {
			if a.holds(state) {
				came[what] = a
			}
		}
	})
	began := false
	for _, what := range slices.Sorted(maps.Keys(comes)) {
		_, is := came[what]
		waits := s.waiters[what]
		if waits != nil && is {
			select {
			case <-waits:
			default:
				return failure(
					"waiting callers are woken",
					"on %s, %s has come, and who waits for it was not woken",
					s.name,
					what,
				)
			}
		}
		if is {
			delete(s.waiters, what)
			continue
		}
		if waits != nil {
			select {
			case <-waits: // it happened, and is over
			default:
				continue
			}
		}
		woken := make(chan struct{})
		s.waiters[what], began = woken, true
		go func(ctx context.Context, h *engine.Handler) {
			defer close(woken)
			comes[what].wait(ctx, h)
		}(s.following, s.handler)
	}
	if began {
		synctest.Wait()
	}
	return nil
}

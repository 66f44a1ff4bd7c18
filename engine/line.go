package engine

import (
	"container/list"
	"context"

	"maestro/projections"
)

// line is the queue of callers that wait for an item of one queue, in order of arrival. Each item that may be started
// gives one of them a turn, so that a push wakes one caller, however many wait.
type line struct {
	waiting list.List // of *waiter
	// turns is the number of turns that have not ended.
	turns int
}

// Turn is the turn of a caller that waited for an item of a queue: it may now try to start one. The caller must call
// End once it has tried, or if it does not try. If the item is still there, the next caller then gets a turn.
type Turn struct {
	h              *Handler
	project, queue string
	ended          bool
}

// End ends the turn. It may be called twice.
func (t *Turn) End() {
	if t.ended {
		return
	}
	t.ended = true
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	l := t.h.lines[t.project][t.queue]
	l.turns--
	t.h.serve(t.project, t.queue)
}

// AwaitItem returns when it is the caller's turn to start an item of a queue, that is when there are more startable
// items than outstanding turns. It returns a nil turn when the condition over holds on the committed state. It checks
// the condition at once, and again when one of the keys changes, a turn is given or the queue is finished. It fails
// with ctx's error.
func (h *Handler) AwaitItem(
	ctx context.Context, project, queue string, over func(*projections.State) bool, keys ...Key,
) (*Turn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lineOf(project, queue)
	defer h.serve(project, queue)
	front := false
	for {
		if over(h.committed) {
			return nil, nil
		}
		if l.turns < h.startable(project, queue) {
			l.turns++
			return &Turn{h: h, project: project, queue: queue}, nil
		}
		w := &waiter{changed: make(chan struct{})}
		h.register(w, keys)
		if front { // the item that the turn was for is gone: the caller keeps its place
			w.place = l.waiting.PushFront(w)
		} else {
			w.place = l.waiting.PushBack(w)
		}
		h.mu.Unlock()
		select {
		case <-w.changed:
		case <-ctx.Done():
		}
		h.mu.Lock()
		h.unregister(w, keys)
		if front = w.place == nil; front { // it got a turn, and checks that the turn is still good
			l.turns--
		} else {
			l.waiting.Remove(w.place)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// lineOf returns the line of a queue. A line exists while callers wait in it. The caller holds mu.
func (h *Handler) lineOf(project, queue string) *line {
	if h.lines[project] == nil {
		if h.lines == nil {
			h.lines = map[string]map[string]*line{}
		}
		h.lines[project] = map[string]*line{}
	}
	l := h.lines[project][queue]
	if l == nil {
		l = &line{}
		h.lines[project][queue] = l
	}
	return l
}

// startable counts the items of a queue that may be started. The caller holds mu.
func (h *Handler) startable(project, queue string) int {
	q := h.committed.Queue(project, queue)
	if q == nil {
		return 0
	}
	return h.committed.ReadyItems(q)
}

// serve gives turns to the first callers of a line, one for each item, and removes an empty line. The caller holds mu.
func (h *Handler) serve(project, queue string) {
	l := h.lines[project][queue]
	if l == nil {
		return
	}
	if l.waiting.Len() > 0 {
		for n := h.startable(project, queue); l.turns < n && l.waiting.Len() > 0; l.turns++ {
			w := l.waiting.Remove(l.waiting.Front()).(*waiter) //nolint:forcetypeassert // it holds nothing else
			w.place = nil
			w.wake()
		}
	}
	if l.waiting.Len() > 0 || l.turns > 0 {
		return
	}
	delete(h.lines[project], queue)
	if len(h.lines[project]) == 0 {
		delete(h.lines, project)
	}
}

// serveQueue gives turns to the callers that wait for a queue that changed, and wakes all when it is finished or was
// deleted. The caller holds mu.
func (h *Handler) serveQueue(project, queue string) {
	l, q := h.lines[project][queue], h.committed.Queue(project, queue)
	if l != nil && (q == nil || h.committed.Finished(q)) {
		for e := l.waiting.Front(); e != nil; e = e.Next() {
			e.Value.(*waiter).wake() //nolint:forcetypeassert // it holds nothing else
		}
	}
	h.serve(project, queue)
}

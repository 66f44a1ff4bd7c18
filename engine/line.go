package engine

import (
	"container/list"
	"context"

	"maestro/projections"
)

// line holds the callers that wait for an item of one queue, in order of arrival. Each item that may be started gives
// one of them a turn, so a push wakes one, however many wait.
type line struct {
	waiting list.List // of *waiter
	// turns are those that were given and have not ended.
	turns int
}

// Turn is the turn of a caller that waited for an item of a queue: it may ask for one now. End must be called when it
// has an answer, or does not ask: then an item that is still there gives another its turn.
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

// AwaitItem returns when it is the caller's turn to ask for an item of a queue: there are more items to start than
// others have turns. It returns nil once the waiting is over on the committed state, which it looks at first, and then
// whenever one of the keys has changed, a turn came or the queue is finished. It fails with ctx's error.
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
		if front { // what its turn was for is gone: it keeps its place
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
		if front = w.place == nil; front { // it got a turn, and looks whether that still holds
			l.turns--
		} else {
			l.waiting.Remove(w.place)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// lineOf returns the line of a queue, which stays while somebody is in it; mu is held.
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

// startable counts the items of a queue that may be started; mu is held.
func (h *Handler) startable(project, queue string) int {
	q := h.committed.Queue(project, queue)
	if q == nil {
		return 0
	}
	return h.committed.ReadyItems(q)
}

// serve gives turns to the first of a line, as many as there are items for, and forgets a line in which nobody is; mu
// is held.
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

// serveQueue gives turns to the callers that wait for a queue that changed, and lets all look when it is finished; mu
// is held.
func (h *Handler) serveQueue(project, queue string) {
	l, q := h.lines[project][queue], h.committed.Queue(project, queue)
	if l != nil && q != nil && h.committed.Finished(q) {
		for e := l.waiting.Front(); e != nil; e = e.Next() {
			e.Value.(*waiter).wake() //nolint:forcetypeassert // it holds nothing else
		}
	}
	h.serve(project, queue)
}

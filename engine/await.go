package engine

import (
	"context"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// Key names something that a caller may wait for a change of: a queue ("<project>/<queue>"), a question, a token or a
// session, by the kinds of [projections.Change]. Of a session only its end, its loss and the revocation of its secret
// count; of a queue also that what its items wait for has come.
type Key struct {
	Kind projections.Kind
	ID   string
}

// waiter is one call of Await.
type waiter struct {
	changed chan struct{}
	woken   bool
}

// Await returns when a condition holds on the committed state, or with ctx's error. It looks at first, and then
// whenever one of the keys has changed: nobody polls.
func (h *Handler) Await(ctx context.Context, holds func(*projections.State) bool, keys ...Key) error {
	for {
		w := h.waitFor(holds, keys)
		if w == nil {
			return nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
		}
		h.forget(w, keys)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// waitFor gives nil if the condition holds, or what is woken when one of the keys changes.
func (h *Handler) waitFor(holds func(*projections.State) bool, keys []Key) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if holds(h.committed) {
		return nil
	}
	w := &waiter{changed: make(chan struct{})}
	for _, key := range keys {
		if h.waiters[key] == nil {
			if h.waiters == nil {
				h.waiters = map[Key]map[*waiter]struct{}{}
			}
			h.waiters[key] = map[*waiter]struct{}{}
		}
		h.waiters[key][w] = struct{}{}
	}
	return w
}

func (h *Handler) forget(w *waiter, keys []Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		delete(h.waiters[key], w)
		if len(h.waiters[key]) == 0 {
			delete(h.waiters, key)
		}
	}
}

// touch remembers, until the commit, what an event changed that somebody may wait for.
func (h *Handler) touch(data events.Data, changes []projections.Change) {
	for _, change := range changes {
		switch change.Kind {
		case projections.KindQueue, projections.KindInput, projections.KindToken:
			h.touchKey(Key{change.Kind, change.ID})
		case projections.KindTask:
			if task, ok := change.After.(*projections.Task); ok {
				h.touchKey(Key{projections.KindProject, task.ProjectID})
			}
		case projections.KindSession:
			if x, ok := change.After.(*projections.Session); ok && x.Ended() {
				h.touchKey(Key{projections.KindProject, x.ProjectID})
			}
		case projections.KindProject,
			projections.KindQueueItem,
			projections.KindTemplate,
			projections.KindSessionTimeline,
			projections.KindTaskTimeline:
		}
	}
	switch d := data.(type) {
	case *events.SessionKilled:
		h.touchSession(d.SessionID)
	case *events.SessionDeleted:
		h.touchSession(d.SessionID)
	case *events.SessionLost:
		h.touchSession(d.SessionID)
	case *events.SessionTimedOut:
		h.touchSession(d.SessionID)
	case *events.TokenRevoked:
		if d.SessionID != "" {
			h.touchSession(d.SessionID)
		}
	}
}

func (h *Handler) touchSession(id string) { h.touchKey(Key{projections.KindSession, id}) }

func (h *Handler) touchKey(key Key) {
	if key == h.touchedLast { // nearly all of a batch is of one project
		return
	}
	h.touchedLast = key
	if h.touched == nil {
		h.touched = map[Key]struct{}{}
	}
	h.touched[key] = struct{}{}
}

// wakeTouched wakes who waits for what the commit changed; mu is held.
func (h *Handler) wakeTouched() {
	for key := range h.touched {
		h.wakeKey(key)
		switch key.Kind {
		case projections.KindSession:
			select {
			case h.gone <- struct{}{}:
			default:
			}
		case projections.KindProject:
			h.wakeReady(key.ID)
		default:
		}
	}
	h.untouch()
}

// untouch forgets what was touched.
func (h *Handler) untouch() {
	clear(h.touched)
	h.touchedLast = Key{}
}

func (h *Handler) wakeKey(key Key) {
	for w := range h.waiters[key] {
		if !w.woken {
			w.woken = true
			close(w.changed)
		}
	}
}

// wakeReady wakes who waits for a queue of a project whose tasks changed, if it has an item to start: the queue is the
// same, and what its items wait for may have come.
func (h *Handler) wakeReady(project string) {
	for key := range h.waiters {
		name, ok := strings.CutPrefix(key.ID, project+"/")
		if !ok || key.Kind != projections.KindQueue {
			continue
		}
		if q := h.committed.Queue(project, name); q != nil {
			if top, _ := h.committed.Top(q); top != nil {
				h.wakeKey(key)
			}
		}
	}
}

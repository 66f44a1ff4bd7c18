package engine

import (
	"container/list"
	"context"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// Key names an object whose changes a caller may wait for: a question, a token or a session, by the kinds of
// [projections.Change]. For a session, only its end, its loss and the revocation of its secret count. A queue item's
// key that holds a session id stands for the item that this session would claim.
type Key struct {
	Kind projections.Kind
	ID   string
}

// waiter is one pending check of Await or AwaitItem.
type waiter struct {
	changed chan struct{}
	woken   bool
	// place is the waiter's place in a line; nil if it is in no line, or already has its turn.
	place *list.Element
}

func (w *waiter) wake() {
	if !w.woken {
		w.woken = true
		close(w.changed)
	}
}

// Await returns when a condition holds on the committed state, or with ctx's error. It checks the condition at once and
// again whenever one of the keys changes. Nothing polls.
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
		h.mu.Lock()
		h.unregister(w, keys)
		h.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// waitFor returns nil if the condition holds. Otherwise it returns a waiter that is woken when one of the keys changes.
func (h *Handler) waitFor(holds func(*projections.State) bool, keys []Key) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if holds(h.committed) {
		return nil
	}
	w := &waiter{changed: make(chan struct{})}
	h.register(w, keys)
	return w
}

// register subscribes a waiter to changes of the keys. The caller holds mu.
func (h *Handler) register(w *waiter, keys []Key) {
	for _, key := range keys {
		if h.waiters[key] == nil {
			if h.waiters == nil {
				h.waiters = map[Key]map[*waiter]struct{}{}
			}
			h.waiters[key] = map[*waiter]struct{}{}
		}
		h.waiters[key][w] = struct{}{}
	}
}

func (h *Handler) unregister(w *waiter, keys []Key) {
	for _, key := range keys {
		delete(h.waiters[key], w)
		if len(h.waiters[key]) == 0 {
			delete(h.waiters, key)
		}
	}
}

// touch collects the keys that an event changes. wakeTouched wakes their waiters after the commit.
func (e *effects) touch(data events.Data, changes []projections.Change) {
	for _, change := range changes {
		switch change.Kind {
		case projections.KindInput:
			e.touchKey(Key{change.Kind, change.ID})
			e.touchMail(change)
			e.touchWaiting(change)
		case projections.KindWebhook:
			e.touchKey(AnyWebhook)
		case projections.KindQueue, projections.KindToken:
			e.touchKey(Key{change.Kind, change.ID})
		case projections.KindSession:
			e.touchMail(change)
			e.touchRunners(change)
		case projections.KindProject,
			projections.KindTask,
			projections.KindQueueItem,
			projections.KindTemplate,
			projections.KindSessionTimeline,
			projections.KindTaskTimeline:
		}
	}
	switch d := data.(type) {
	case *events.QueueItemStarted:
		e.touchKey(Key{projections.KindQueueItem, d.SessionID})
	case *events.SessionKilled:
		e.touchSession(d.SessionID)
	case *events.SessionDeleted:
		e.touchSession(d.SessionID)
	case *events.SessionLost:
		e.touchSession(d.SessionID)
	case *events.SessionTimedOut:
		e.touchSession(d.SessionID)
	case *events.SessionExited:
		if d.Status != "" {
			e.touchSession(d.SessionID)
		}
	case *events.SessionResumed: // its former secret is revoked
		e.touchSession(d.SessionID)
	case *events.TokenRevoked:
		if d.SessionID != "" {
			e.touchSession(d.SessionID)
		}
	}
}

// touchMail collects the keys of the callers that wait for a session's mail.
func (e *effects) touchMail(change projections.Change) {
	if id := change.MailFor(); id != "" {
		e.touchKey(MailOf(id))
	}
}

// touchRunners collects the key of the runners if a session changes what one of them has to do.
func (e *effects) touchRunners(change projections.Change) {
	before, _ := change.Before.(*projections.Session)
	after, _ := change.After.(*projections.Session)
	if after == nil || !after.Employed() && (before == nil || !before.Employed()) {
		return
	}
	if before == nil || before.Runs != after.Runs || before.EndedAt != after.EndedAt ||
		after.Waits() && before.SessionFields != after.SessionFields { // it has mail
		e.touchKey(AnyRunner)
	}
}

// touchWaiting collects that key if a question was answered: its session's agent may have ended to wait for that.
func (e *effects) touchWaiting(change projections.Change) {
	if input, ok := change.After.(*projections.Input); ok && input.AnsweredAt != 0 {
		e.touchKey(AnyRunner)
	}
}

// AnyRunner is the key that changes when there may be something to do for a runner.
var AnyRunner = Key{Kind: projections.KindSessionTimeline}

// AnyWebhook is the key that changes when any webhook does.
var AnyWebhook = Key{Kind: projections.KindWebhook}

// MailOf is the key that changes when mail arrives for a session.
func MailOf(session string) Key { return Key{projections.KindSessionTimeline, session} }

func (e *effects) touchSession(id string) { e.touchKey(Key{projections.KindSession, id}) }

func (e *effects) touchKey(key Key) {
	if key == e.touchedLast { // most events of a batch belong to one project
		return
	}
	e.touchedLast = key
	if e.touched == nil {
		e.touched = map[Key]struct{}{}
	}
	e.touched[key] = struct{}{}
}

// wakeTouched wakes the waiters for the keys that the commit changed. The caller holds mu.
func (h *Handler) wakeTouched(touched map[Key]struct{}) {
	for key := range touched {
		h.wakeKey(key)
		switch key.Kind {
		case projections.KindSession:
			select {
			case h.gone <- struct{}{}:
			default:
			}
		case projections.KindQueue:
			project, queue, _ := strings.Cut(key.ID, "/")
			h.serveQueue(project, queue)
		default:
		}
	}
}

func (h *Handler) wakeKey(key Key) {
	for w := range h.waiters[key] {
		w.wake()
	}
}

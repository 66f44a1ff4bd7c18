package simulation

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/testing/simlog"
)

// call is one attempt to send a wish to one server.
type call struct {
	number int
	wish   wish
	server *server
	cancel context.CancelFunc
	// lo is the last sequence that any server had acknowledged or shown when the call was made: no answer may be based
	// on less. doubt says that the server was in doubt then, troubles how many operations had failed.
	lo uint64
	// earliest and latest are what its server's clock may have shown when it was decided, in milliseconds.
	earliest, latest int64
	doubt            bool
	troubles         int64

	// ended says that answer and err are set; the driver reads them after synctest.Wait.
	ended  chan struct{}
	answer engine.Answer
	err    error
	// cancelled: the client gave up. lost: the server died before it answered, so no answer counts.
	cancelled, lost bool
	// final: it was answered with an event, "already so" or a refusal.
	final bool
	// unheard: the server could not write that the session called.
	unheard bool
}

// submit sends a wish to a server.
func (w *world) submit(s *server, x wish) *call {
	x.by = w.oracle.model().showing(x.by)
	ctx, cancelCall := context.WithCancel(simlog.CallerOf(context.Background(), len(w.calls)+1))
	c := &call{
		number: len(
			w.calls,
		) + 1,
		wish:     x,
		server:   s,
		cancel:   cancelCall,
		lo:       w.known(),
		doubt:    s.handler.Health() != nil,
		troubles: s.troubles.Load(),
		ended:    make(chan struct{}),
	}
	w.calls = append(w.calls, c)
	w.waiting = append(w.waiting, c)
	w.oracle.submitted(x)
	w.tracef("call %d to %s by %s", c.number, s.name, x)
	command, err := x.command()
	if err != nil {
		w.fail(failure("the simulation's own", "%s: %v", x, err))
		close(c.ended)
		c.lost = true
		return c
	}
	c.earliest, c.latest = s.now().UnixMilli(), s.now().UnixMilli()
	handler, leases := s.handler, s.leases
	if known := w.oracle.model().sessions[x.by.name]; x.by.kind != "session" ||
		known.Project != x.by.project || known.Generation != x.by.generation {
		leases = nil // no credential permits that
	}
	if leases != nil {
		s.life.hear(x.by.name, w.lived())
	}
	go func() {
		defer close(c.ended)
		if leases != nil {
			if c.err = leases.Heard(ctx, x.by.name); c.err != nil {
				c.unheard = true
				return
			}
		}
		c.answer, c.err = handler.Do(
			ctx, engine.Request{
				By:         x.by.actor(),
				Command:    command,
				Key:        x.key,
				OccurredAt: x.occurred,
			},
		)
	}()
	return c
}

// known returns the last sequence that any client can know.
func (w *world) known() uint64 {
	for at := range w.acked {
		w.heard = max(w.heard, at)
	}
	for _, s := range w.servers {
		w.heard = max(w.heard, s.head)
	}
	return w.heard
}

// loseCalls marks the calls of a server that died: they get no answer.
func (w *world) loseCalls(s *server) {
	for _, c := range w.waiting {
		if c.server == s {
			c.lost = true
			c.cancel()
		}
	}
	for _, b := range w.beats {
		if b.server == s {
			b.lost = true
			b.cancel()
		}
	}
}

// clock records what the server's clock shows while the call waits.
func (c *call) clock() {
	now := c.server.now().UnixMilli()
	c.earliest, c.latest = min(c.earliest, now), max(c.latest, now)
}

// setClock sets a server's clock to an offset.
func (w *world) setClock(s *server, offset time.Duration) {
	w.change(s, func() { s.offset.Store(int64(offset)) })
}

// skip lets time pass during which a server's process did not run, and counts it. All its clocks jump at once.
func (w *world) skip(s *server, counted *atomic.Int64, d time.Duration) {
	w.change(s, func() {
		counted.Add(int64(d))
		s.offset.Add(int64(d))
	})
}

// change changes a server's clocks. Waiting calls may be decided before or after the change.
func (w *world) change(s *server, clocks func()) {
	note := func() {
		for _, c := range w.waiting {
			if c.server == s {
				c.clock()
			}
		}
	}
	note()
	clocks()
	s.denied.mu.Lock()
	s.denied.epoch++
	s.denied.mu.Unlock()
	note()
}

// judgeCalls judges the answers that came since the last step.
func (w *world) judgeCalls() *Failure {
	var waiting []*call
	for i, c := range w.waiting {
		select {
		case <-c.ended:
		default:
			waiting = append(waiting, c)
			continue
		}
		c.cancel()
		if c.lost {
			continue
		}
		c.clock()
		if f := w.judgeCall(c); f != nil {
			w.waiting = append(waiting, w.waiting[i+1:]...)
			return f
		}
	}
	w.waiting = waiting
	return nil
}

func (w *world) judgeCall(c *call) *Failure {
	var refusal *commands.Refusal
	var unavailable *engine.UnavailableError
	switch {
	case c.err == nil && c.answer.Event == nil:
		w.tracef("  call %d: already so at %d", c.number, c.answer.Sequence)
		c.final = true
		return w.judgeAlready(c)
	case c.err == nil:
		w.tracef("  call %d: event %d (retried: %t)", c.number, c.answer.Sequence, c.answer.Retried)
		c.final = true
		return w.judgeEvent(c)
	case c.unheard && errors.As(c.err, &refusal):
		return failure(
			"a session that calls is heard",
			"call %d: that session %s was heard was refused: %v",
			c.number,
			c.wish.by.name,
			c.err,
		)
	case errors.As(c.err, &refusal):
		w.tracef("  call %d: refused: %s: %s", c.number, refusal.Code, refusal.Message)
		c.final = true
		if f := w.judgeRecord(c, refusal); f != nil {
			return f
		}
		return w.judgeRefusal(c, refusal)
	case errors.As(c.err, &unavailable):
		w.tracef("  call %d: unavailable: %s", c.number, unavailable.Why)
		if !c.doubt && c.server.troubles.Load() == c.troubles && c.server.closing == nil && c.server.up() &&
			c.server.conflicts.Load() < 9 && !c.server.stalled() &&
			!c.cancelled {
			return failure("a healthy log answers", "call %d got %q, and nothing had failed", c.number, unavailable.Why)
		}
		return nil
	case c.cancelled && errors.Is(c.err, context.Canceled):
		w.tracef("  call %d: its client gave up", c.number)
		return nil
	}
	return failure("every answer is one of three", "call %d got the error %v", c.number, c.err)
}

package supervisor

import (
	"context"
	"fmt"
	"time"

	"maestro/events"
)

// An agent whose session has said that it is done ends by itself, within seconds. One that goes on takes a place, and
// may spend money, so that is shown, and later it is ended. How long both take follows from Limits.Silent.
const (
	// shownAfter and looksEvery divide the time that it has.
	shownAfter = 5
	looksEvery = 10
	// looksRarely is how often the supervisor asks at most whether the session is done.
	looksRarely = 30 * time.Second
)

// lingering notices an agent that goes on after its session has said that it is done.
type lingering struct {
	// within is how long it may do so.
	within time.Duration
	after  func(time.Duration) <-chan time.Time
	now    func() time.Time
	// done reports whether the session has said that it is done.
	done func(ctx context.Context) bool
	show func(detail string, since time.Time)
	end  func(why string)
}

// run looks until ctx ends, or the agent is to end.
func (l lingering) run(ctx context.Context) {
	var since time.Time
	shown := false
	for {
		select {
		case <-l.after(min(l.within/looksEvery, looksRarely)):
		case <-ctx.Done():
			return
		}
		if since.IsZero() {
			if l.done(ctx) {
				since = l.now()
			}
			continue
		}
		late := l.now().Sub(since)
		if late >= l.within/shownAfter && !shown {
			shown = true // also if the supervisor was stopped until the agent is to be ended
			l.show(fmt.Sprintf("its session is complete, and it has not ended; its supervisor ends it %s after that",
				l.within), since)
		}
		if late >= l.within {
			l.end(fmt.Sprintf("its session was complete, and the agent had not ended %s later", l.within))
			return
		}
	}
}

// lingers ends an agent that goes on after its session has said that it is done, until ctx ends.
func (s *supervisor) lingers(ctx context.Context) {
	lingering{
		within: s.Silent,
		after:  s.calls.after,
		now:    time.Now,
		done: func(ctx context.Context) bool {
			x, err := s.calls.session.Session(ctx, s.SessionID)
			return err == nil && x.EndedAt == nil && x.Status == events.SessionSaidDone
		},
		show: s.attention.lingers,
		end:  s.stop,
	}.run(ctx)
}

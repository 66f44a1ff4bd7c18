package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// pastsKept is how many past states are kept for further reads: who looks at a moment reads much of it. Each takes as
// much memory as the state took at that moment.
const pastsKept = 2

// pastIdle is how long a past state is kept that nobody reads.
const pastIdle = time.Minute

// pasts keeps the past states that were read last.
type pasts struct {
	// folding has room for one state: a fold takes a processor, and memory.
	folding chan struct{}

	mu   sync.Mutex
	kept []*keptPast
}

// keptPast is a past state with the timer that drops it.
type keptPast struct {
	*engine.Past

	idle *time.Timer
}

func newPasts() *pasts { return &pasts{folding: make(chan struct{}, 1)} }

// find returns a kept state, nil if there is none.
func (p *pasts) find(sequence uint64) *engine.Past {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.kept {
		if x.Sequence() == sequence {
			x.idle.Reset(pastIdle)
			p.kept = append(slices.Delete(p.kept, i, i+1), x)
			return x.Past
		}
	}
	return nil
}

// keep keeps a state, and drops the least recently read one if there are too many.
func (p *pasts) keep(past *engine.Past) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) == pastsKept {
		p.kept[0].idle.Stop()
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	x := &keptPast{Past: past}
	x.idle = time.AfterFunc(pastIdle, func() { p.drop(x) })
	p.kept = append(p.kept, x)
}

func (p *pasts) drop(x *keptPast) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(other *keptPast) bool { return other == x })
}

// LookBack makes the caller read the state as it was at a moment: after the event with a sequence, or at a time in RFC
// 3339, which means after the last event up to that time. The caller needs the permission for what it reads at both
// times: now and then. It fails with a *Problem.
func (s *Service) LookBack(ctx context.Context, c *Caller, moment string) error {
	leave, err := s.admitted(ctx, c, Demand{ReadsLog: true})
	if err != nil {
		return err
	}
	defer leave()
	rule := queryRules[c.asks]
	if !rule.past {
		return InvalidRequest("/at", "this read shows only the present: leave out at")
	}
	if c.isPage() {
		return ErrPage
	}
	for _, row := range rule.rows {
		if err = s.Permit(c, row, ""); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	good, done := s.WhileGood(ctx, c)
	defer done()
	sequence, at, err := s.sequenceAt(good, moment)
	if err == nil {
		c.past, err = s.pastAt(good, c, sequence)
	}
	if over := c.EndReason(good); err != nil && over != nil {
		return over
	}
	var missing *engine.NotCommittedError
	switch {
	case errors.As(err, &missing):
		return Invalid("/at", "There is no event %d yet: the newest is %d", missing.Sequence, missing.Head)
	case err != nil:
		return err
	}
	if c.then = at; at.IsZero() {
		c.then = c.past.At()
	}
	return s.existedThen(c)
}

// existedThen refuses a session that looks back to a moment before it existed: it had no permissions then.
func (s *Service) existedThen(c *Caller) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	existed, since := false, int64(0)
	c.past.View(func(state *projections.State) { existed = state.SessionEver(c.By.Name) != nil })
	if existed {
		return nil
	}
	s.Handler.View(func(state *projections.State) {
		if x := state.SessionEver(c.By.Name); x != nil {
			since = x.StartedAt
		}
	})
	refusal := Invalid("/at", "Session '%s' did not exist yet after event %d", c.By.Name, c.past.Sequence())
	refusal.Why = "a session reads only moments since it was created"
	refusal.Next = "name a moment from " + time.UnixMilli(since).UTC().Format("2006-01-02T15:04:05.000Z") + " on"
	return refusal
}

// waitsInPast refuses to wait for what was.
func waitsInPast() error {
	return InvalidRequest("/wait", "a read of a moment does not wait: leave out wait, or at")
}

// HeadFor returns the sequence of the state that a caller reads; nil for an unknown caller.
func (s *Service) HeadFor(c *Caller) uint64 {
	if c != nil && c.past != nil {
		return c.past.Sequence()
	}
	return s.Head()
}

// pastAt returns the state after an event.
func (s *Service) pastAt(ctx context.Context, c *Caller, sequence uint64) (*engine.Past, error) {
	if past := s.pasts.find(sequence); past != nil {
		return past, nil
	}
	select {
	case s.pasts.folding <- struct{}{}:
		defer func() { <-s.pasts.folding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if past := s.pasts.find(sequence); past != nil { // somebody else read the same moment
		return past, nil
	}
	past, folded, err := s.Handler.Past(ctx, sequence)
	c.chargeSteps(StepsPerRead * (1 + int(folded/EventsPerRead))) //nolint:gosec // far fewer than an int holds
	if err != nil {
		return nil, err
	}
	s.pasts.keep(past)
	return past, nil
}

// sequenceAt returns the sequence that a moment means, and the time if it is one.
func (s *Service) sequenceAt(ctx context.Context, moment string) (sequence uint64, at time.Time, err error) {
	if sequence, err = strconv.ParseUint(moment, 10, 64); err == nil {
		return sequence, at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, moment); err != nil {
		return 0, at, Invalid(
			"/at", "at must be the number of an event, or a time such as 2026-01-31T12:00:00Z, not '%s'",
			safetext.Printable(moment),
		)
	}
	if at.After(s.Now()) {
		return 0, at, Invalid("/at", "%s is in the future", safetext.Printable(moment))
	}
	sequence, err = s.lastUntil(ctx, at)
	return sequence, at, err
}

// lastUntil returns the sequence of the last event up to a time, 0 if there is none. No event is older than the one
// before it, so a binary search finds it.
func (s *Service) lastUntil(ctx context.Context, at time.Time) (uint64, error) {
	before, after := uint64(0), s.Head()+1
	for before+1 < after {
		middle := before + (after-before)/2
		var then time.Time
		err := s.Log.Read(ctx, middle, middle, func(m events.Message) error {
			e, err := events.Decode(m.Body)
			if err != nil {
				return fmt.Errorf("event %d: %w", m.Sequence, err)
			}
			then = e.Time
			return nil
		})
		if err != nil {
			return 0, err
		}
		if then.After(at) {
			after = middle
		} else {
			before = middle
		}
	}
	return before, nil
}

// now is the time at which the caller reads: the present, or the moment that it looks back to. An event's moment is its
// time.
func (v View) now() time.Time {
	if v.past {
		return v.Caller.then
	}
	return v.Service.Now()
}

// permitPresent checks a permission in the present state, for a caller that reads a past one.
func (v View) permitPresent(row, project string) (err error) {
	v.Service.Handler.View(func(present *projections.State) {
		err = commands.Permit(present, commands.CurrentRules(), v.Caller.By, row, project)
	})
	return err
}

package simulation

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	documents "maestro/internal/oracle"
	"maestro/projections"
)

// judgeEvent checks promises 1 and 6 for an answer with an event.
func (w *world) judgeEvent(c *call) *Failure {
	o := w.oracle
	at := c.answer.Sequence
	if at == 0 || at > o.head() {
		return failure(
			"1 acknowledged is never lost",
			"call %d was answered with event %d, but only %d are on disk",
			c.number,
			at,
			o.head(),
		)
	}
	if !bytes.Equal(o.messages[at-1].Body, c.answer.Event) {
		return failure(
			"1 acknowledged is never lost",
			"call %d was answered with event %d, but the log has another there:\n%s\n%s",
			c.number,
			at,
			c.answer.Event,
			o.messages[at-1].Body,
		)
	}
	if own, another := o.eventOf(c.wish); own != at || another {
		return failure(
			"6 one command, one event",
			"call %d was answered with event %d, but its own is %d (another's: %t)",
			c.number,
			at,
			own,
			another,
		)
	}
	w.acked[at] = c.answer.Event
	return nil
}

// judgeAlready checks an answer "already so" in the state that it is based on.
func (w *world) judgeAlready(c *call) *Failure {
	ground := c.answer.Sequence
	if ground > w.oracle.head() {
		return failure(
			"6 an answer is based on durable events",
			"call %d was answered \"already so\" at %d, but only %d are on disk",
			c.number,
			ground,
			w.oracle.head(),
		)
	}
	if ground < c.lo {
		return failure(
			"6 an answer is based on durable events",
			"call %d was answered \"already so\" at %d, but %d had been shown before",
			c.number,
			ground,
			c.lo,
		)
	}
	var must documents.Answer
	for _, at := range w.oracle.ground(ground).model().moments(c) {
		if must = w.oracle.expect(ground, c.wish, at); must.Already {
			return nil
		}
	}
	return failure(
		"6 an answer is based on durable events",
		"call %d was answered \"already so\" at %d, where it must be %s: %s",
		c.number,
		ground,
		must,
		c.wish,
	)
}

// judgeRefusal looks for a state in which this refusal is right, among those on which the server may have based it.
func (w *world) judgeRefusal(c *call, refusal *commands.Refusal) *Failure {
	hi := w.oracle.head()
	var expected []string
	for ground := c.lo; ground <= hi; ground++ {
		for _, at := range w.oracle.ground(ground).model().moments(c) {
			must := w.oracle.expect(ground, c.wish, at)
			if slices.Contains(must.Codes, string(refusal.Code)) {
				return nil
			}
			if !slices.Contains(expected, must.String()) {
				expected = append(expected, must.String())
			}
		}
	}
	return failure(
		"2 and 6, a refusal is based on durable events",
		"call %d was refused with %s (%s); in the states %d to %d it must be %q: %s",
		c.number,
		refusal.Code,
		refusal.Message,
		c.lo,
		hi,
		expected,
		c.wish,
	)
}

// judgeView checks promises 4 and 5 for what a server shows.
func (w *world) judgeView(s *server) *Failure {
	if s.handler == nil {
		return nil
	}
	if err := s.handler.Health(); errors.Is(err, events.ErrReadOnly) {
		return failure("5 only damage is reported", "%s reports damage of a healthy log: %v", s.name, err)
	}
	var f *Failure
	moved := !s.seen
	s.handler.View(func(state *projections.State) {
		head := state.Head()
		moved = moved || head.Sequence != s.head
		switch {
		case head.Sequence > w.oracle.head():
			f = failure(
				"only durable events are visible",
				"%s shows %d, but only %d are on disk",
				s.name,
				head.Sequence,
				w.oracle.head(),
			)
		case head.Sequence < s.head:
			f = failure(
				"only durable events are visible",
				"%s shows %d after it showed %d",
				s.name,
				head.Sequence,
				s.head,
			)
		case head.Hash != w.oracle.chain[head.Sequence]:
			f = failure(
				"5 the chain",
				"%s shows the hash %s at %d, the chain is at %s",
				s.name,
				head.Hash,
				head.Sequence,
				w.oracle.chain[head.Sequence],
			)
		case (head.Sequence != s.head || !s.seen) && encode(state) != w.oracle.encodedAt(head.Sequence):
			f = failure(
				"4 every view equals the fold",
				"%s shows another state at %d than a fold from an empty state",
				s.name,
				head.Sequence,
			)
		}
		s.head, s.seen = head.Sequence, true
	})
	if f == nil && s.followed.Load() != s.head {
		f = failure(
			"callers that wait for a sequence are woken",
			"%s shows %d, but a caller that waits for it was woken at %d",
			s.name,
			s.head,
			s.followed.Load(),
		)
	}
	if f == nil && moved && s.closing == nil {
		f = s.judgeWaiters()
	}
	return f
}

// judgeDisk checks, after a crash and at the end, that everything acknowledged is on disk.
func (w *world) judgeDisk() *Failure {
	firm := w.store.Firm()
	for at, body := range w.acked {
		if at > uint64(len(firm)) || !bytes.Equal(firm[at-1].Body, body) {
			return failure("1 acknowledged is never lost", "event %d was acknowledged, but is not on disk", at)
		}
	}
	return nil
}

// judgeStep checks every promise in the current state.
func (w *world) judgeStep() *Failure {
	for _, m := range w.store.Firm()[w.oracle.head():] {
		if f := w.oracle.follow(m); f != nil {
			return f
		}
		if f := w.judgeTime(time.UnixMilli(w.oracle.model().at)); f != nil {
			return f
		}
		for _, id := range w.oracle.model().sessionIDs[len(w.born):] {
			w.born[id] = w.stepped.Sub(w.began)
		}
	}
	if f := w.failed(); f != nil {
		return f
	}
	if f := w.judgeCalls(); f != nil {
		return f
	}
	if f := w.judgeBeats(); f != nil {
		return f
	}
	for _, s := range w.servers {
		if f := s.settle(); f != nil {
			return f
		}
	}
	synctest.Wait() // lets those that follow a server that has just started see its head
	for _, s := range w.servers {
		if f := w.judgeView(s); f != nil {
			return f
		}
	}
	w.stepped = time.Now()
	w.settleLives()
	w.forget()
	return nil
}

// forget drops the states on which no answer may be based any more.
func (w *world) forget() {
	floor := w.known()
	for _, s := range w.servers {
		if !s.down() {
			floor = min(floor, max(s.head, s.from))
		}
	}
	for _, c := range w.waiting {
		floor = min(floor, c.lo)
	}
	for _, b := range w.beats {
		floor = min(floor, b.lo)
	}
	w.oracle.forget(floor)
}

// judgeIdle checks that a server that has nothing in progress, and has had time to gather a batch, leaves no caller
// waiting.
func (w *world) judgeIdle() *Failure {
	if f := w.judgeCrossed(); f != nil {
		return f
	}
	for _, c := range w.waiting {
		if s := c.server; !c.lost && s.up() && s.handler.Health() == nil && len(s.log.Held()) == 0 {
			return failure("every command gets an answer", "%s is idle, and call %d still waits", s.name, c.number)
		}
	}
	return nil
}

// judgeLog runs the product's own audit on the finished log.
func (w *world) judgeLog() *Failure {
	v := engine.NewVerifier()
	for _, m := range w.oracle.messages {
		if !v.Event(m) {
			break
		}
	}
	verdict, err := v.Verdict()
	if err != nil || len(verdict.Faults) > 0 {
		return failure("5 the audit agrees", "the audit of a healthy log: %v %v", verdict.Faults, err)
	}
	if verdict.Views != w.oracle.encodedAt(w.oracle.head()) {
		return failure("4 every view equals the fold", "the audit rebuilt another state")
	}
	return nil
}

// These are called during a step, from the Handler's goroutines, and compare with what is on disk at that moment.

func (w *world) headRecorded(head events.Head) {
	if w.damaged {
		return
	}
	if firm := w.store.Firm(); head.Sequence > uint64(len(firm)) || chainOf(firm[:head.Sequence]) != head.Hash {
		w.fail(failure(
			"5 witnesses are never ahead of the disk",
			"the witness recorded %s, but %d are on disk",
			head,
			len(firm),
		))
	}
}

func (w *world) snapshotSaved(s events.Snapshot) {
	firm := w.store.Firm()
	if s.Sequence > uint64(len(firm)) || chainOf(firm[:s.Sequence]) != s.Hash {
		w.fail(
			failure(
				"5 witnesses are never ahead of the disk",
				"a snapshot was saved at %s, but %d are on disk",
				s.Head,
				len(firm),
			),
		)
		return
	}
	state := projections.New()
	for _, m := range firm[:s.Sequence] {
		if err := apply(state, m); err != nil {
			w.fail(failure("4 every view equals the fold", "sequence %d cannot be folded: %v", m.Sequence, err))
			return
		}
	}
	if events.BodyHash(s.State) != encode(state) {
		w.fail(failure(
			"4 every view equals the fold",
			"the snapshot at %d holds another state than the fold",
			s.Sequence,
		))
	}
	if stored, err := projections.Decode(s.State); err != nil || encode(stored) != events.BodyHash(s.State) {
		w.fail(
			failure(
				"4 every view equals the fold",
				"the snapshot at %d, decoded, is another state (%v)",
				s.Sequence,
				err,
			),
		)
	}
}

func chainOf(messages []events.Message) events.Hash {
	var hash events.Hash
	for _, m := range messages {
		hash = events.Next(hash, events.BodyHash(m.Body))
	}
	return hash
}

// saved lists a server's snapshots, newest first.
func (s *server) saved() []uint64 {
	sequences, err := s.snapshots.List(context.Background())
	if err != nil {
		panic(err)
	}
	return sequences
}

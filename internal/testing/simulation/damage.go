package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"maestro/engine"
	"maestro/events"
)

// damage cuts the power, damages the log where a witness or the chain must show it, and opens it: the server must name
// the place and acknowledge nothing. Then the log is restored.
func (w *world) damage(rng *rand.Rand) *Failure {
	if rng.IntN(2) == 0 {
		for _, s := range w.servers {
			s.witness.Flush()
		}
	}
	if f := w.powerCut(rng); f != nil {
		return f
	}
	// What the power cut left is checked first, because its last events may not have been checked yet.
	synctest.Wait()
	if f := w.judgeStep(); f != nil {
		return f
	}
	w.store.SetFull(false) // on a full disk no server starts
	s := w.servers[rng.IntN(len(w.servers))]
	head := w.oracle.head()
	backup := w.store.Backup()
	first, last, ok := w.harm(s, rng)
	if !ok {
		return nil
	}
	w.damaged = true
	s.start(w.store, s.snapshots, nil)
	synctest.Wait()
	f := w.judgeDamaged(s, rng, first, last)
	w.loseCalls(s)
	if s.handler != nil || s.opening != nil {
		s.kill()
	}
	w.damaged = false
	w.store = backup
	s.witness.Crash()
	if f == nil && w.oracle.head() != head {
		return failure("5 damage is reported", "a damaged log accepted writes")
	}
	return f
}

// harm does one kind of damage that must be noticed, and returns the sequences one of which must be named.
func (w *world) harm(s *server, rng *rand.Rand) (first, last uint64, ok bool) {
	head := w.oracle.head()
	seen, _ := s.witness.Load(context.Background())
	shown := seen.Sequence
	if sequences := s.saved(); len(sequences) > 0 {
		shown = max(shown, sequences[0])
	}
	if shown < 2 {
		return 0, 0, false
	}
	// Only a witness can show that the last event changed; for earlier events, the chain can too.
	at := 1 + rng.Uint64N(max(head-1, shown))
	if rng.IntN(2) == 0 {
		at = shown
	}
	switch rng.IntN(4) {
	case 0:
		w.store.Flip(at, rng.IntN(1<<20))
		w.tracef("  a bit of event %d of %d flips; the witness saw %d", at, head, seen.Sequence)
		return at, at + 1, true
	case 1:
		w.store.Replace(at, rewritten(w.oracle.messages[at-1].Body))
		w.tracef(
			"  event %d of %d is rewritten, its link to the one before it fits; the witness saw %d",
			at,
			head,
			seen.Sequence,
		)
		return at, at + 1, true
	case 2:
		w.store.Lose(at)
		w.tracef("  event %d of %d becomes unreadable; the witness saw %d", at, head, seen.Sequence)
		return at, at, true
	default:
		to := rng.Uint64N(shown)
		w.store.Cut(to)
		w.tracef("  the log of %d is cut to %d; a witness saw %d", head, to, shown)
		return to + 1, to + 1, true
	}
}

// rewritten returns a different event that fits in the place of this one.
func rewritten(body []byte) []byte {
	e, err := events.Decode(body)
	if err != nil {
		panic(err)
	}
	e.Rules += "x"
	other, err := e.Append(nil)
	if err != nil {
		panic(err)
	}
	return other
}

// judgeDamaged checks that a server on a damaged log names a place from first to last, and acknowledges nothing.
func (w *world) judgeDamaged(s *server, rng *rand.Rand, first, last uint64) *Failure {
	var o opened
	select {
	case o = <-s.opening:
		s.opening = nil
	default:
		return failure("5 damage is reported", "opening the damaged log does not end")
	}
	if o.err != nil {
		return failure("5 damage is reported", "the damaged log does not open, so nobody can examine it: %v", o.err)
	}
	s.handler, s.denials = o.handler, o.denials
	var found *events.DamageError
	if err := s.handler.Health(); !errors.As(err, &found) || !errors.Is(err, events.ErrReadOnly) {
		return failure("5 damage is reported", "the log is damaged at %d, but the server reports %v", first, err)
	}
	if found.Sequence < first || found.Sequence > last {
		return failure(
			"5 damage is reported",
			"the log is damaged at %d, and the server names %d: %v",
			first,
			found.Sequence,
			found,
		)
	}
	w.tracef("  %s says: %v", s.name, found)
	for range 3 {
		c := w.submit(s, w.compose(rng))
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case <-c.ended:
		default:
			return failure("5 damage is reported", "call %d to a damaged log gets no answer", c.number)
		}
		var unavailable *engine.UnavailableError
		if !errors.As(c.err, &unavailable) {
			return failure(
				"5 damage is reported",
				"call %d to a damaged log was answered: %v %v",
				c.number,
				c.answer.Sequence,
				c.err,
			)
		}
	}
	return nil
}

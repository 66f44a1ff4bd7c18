package simulation

import (
	"testing/synctest"
	"time"

	"maestro/internal/testing/simlog"
)

// finish repairs every fault, and checks that every wish gets its final answer.
func (w *world) finish() *Failure {
	w.tracef("everything is healed")
	w.store.SetFull(false)
	w.breakDenials(false)
	for range 100 {
		if w.quiet() {
			break
		}
		for _, s := range w.servers {
			if s.down() {
				s.start(w.store, s.snapshots, w.hold)
			}
		}
		w.store.Land(true)
		if f := w.drain(); f != nil {
			return f
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if f := w.judgeStep(); f != nil {
			return f
		}
	}
	if !w.quiet() {
		return failure("every command gets an answer", "%d calls still wait, with the log healed", len(w.waiting))
	}
	if f := w.askAgain(); f != nil {
		return f
	}
	if f := w.abandon(); f != nil {
		return f
	}
	if f := w.wait(); f != nil {
		return f
	}
	for _, s := range w.servers {
		if err := s.handler.Health(); err != nil {
			return failure("every command gets an answer", "%s says of a healed log: %v", s.name, err)
		}
	}
	for _, check := range []func() *Failure{w.judgeDisk, w.oracle.refold, w.judgeLog} {
		if f := check(); f != nil {
			return f
		}
	}
	return nil
}

// quiet reports whether every server is up and no caller waits.
func (w *world) quiet() bool {
	for _, s := range w.servers {
		if !s.up() || len(s.log.Held()) > 0 {
			return false
		}
	}
	return len(w.waiting) == 0 && len(w.beats) == 0 && w.store.Late() == 0
}

// drain lets held operations succeed until there are none.
func (w *world) drain() *Failure {
	for range 100 {
		synctest.Wait()
		found := false
		for _, s := range w.servers {
			for _, op := range s.log.Held() {
				found = true
				w.resolve(s, op, simlog.OK)
				synctest.Wait()
				if f := w.judgeStep(); f != nil {
					return f
				}
			}
		}
		if !found {
			return w.judgeStep()
		}
	}
	return failure("every command gets an answer", "the servers go on and on, with the log healed")
}

// askAgain repeats, with its key, every wish that has no answer yet, and some that have one, which must get the same
// answer.
func (w *world) askAgain() *Failure {
	asked := map[string]bool{}
	for i, c := range w.calls {
		again := c.wish.meaning()
		if asked[again] || c.final && i%4 > 0 {
			continue
		}
		asked[again] = true
		w.submit(w.servers[i%len(w.servers)], c.wish)
		synctest.Wait()
		if i%3 != 0 {
			continue
		}
		if f := w.drain(); f != nil {
			return f
		}
	}
	for range 3 {
		if f := w.drain(); f != nil {
			return f
		}
		time.Sleep(1100 * time.Millisecond)
	}
	answered := map[string]bool{}
	for _, c := range w.calls {
		answered[c.wish.meaning()] = answered[c.wish.meaning()] || c.final
	}
	for _, c := range w.calls {
		if !answered[c.wish.meaning()] {
			return failure(
				"every command gets an answer",
				"call %d was made again on a healed log, and has no answer: %s",
				c.number,
				c.wish,
			)
		}
	}
	return nil
}

// tearDown ends every goroutine of the run.
func (w *world) tearDown() {
	for _, s := range w.servers {
		if s.log != nil && !s.down() {
			s.kill()
		}
	}
	for _, c := range w.waiting {
		c.cancel()
	}
	for _, b := range w.beats {
		b.cancel()
	}
	synctest.Wait()
}

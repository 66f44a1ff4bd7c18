package simulation

import (
	"fmt"
	"testing/synctest"
	"time"

	"maestro/internal/testing/simlog"
)

// abandon ends a session that holds an item, and kills the process that keeps the leases before it returns the item. On
// a repaired log, the next process returns it without waiting for another session to end.
func (w *world) abandon() *Failure {
	s, m := w.servers[0], w.oracle.model()
	holder := ""
	for _, id := range m.sessionIDs {
		if x := m.sessions[id]; x.Holds != "" && x.Fate == "" {
			holder = id
		}
	}
	if holder == "" {
		return nil
	}
	w.tracef("session %s ends, and its item is not given back", holder)
	w.keys++
	key := fmt.Sprintf("k%d", w.keys)
	w.submit(s, wish{
		by:     admin,
		id:     "session:kill",
		fields: fields{SessionID: holder},
		key:    key,
	})
	for range 10 { // the head is read first
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if f := w.judgeStep(); f != nil || w.oracle.model().sessions[holder].Ended {
			if f != nil {
				return f
			}
			break
		}
		if held := s.log.Held(); len(held) > 0 {
			w.resolve(s, held[0], simlog.OK)
		}
	}
	w.tracef("%s is killed, and starts", s.name)
	s.kill()
	s.witness.Crash()
	s.start(w.store, s.snapshots, w.hold)
	if f := w.rest(12 * time.Second); f != nil { // shorter than any lease
		return f
	}
	if left := w.oracle.holders.left(); len(left) > 0 {
		return failure("3 a dead holder's item is returned", "on a healed log, by a new process: %v", left)
	}
	return nil
}

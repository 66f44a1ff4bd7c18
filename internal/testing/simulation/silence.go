package simulation

import (
	"slices"
	"testing/synctest"
	"time"
)

// wait lets time pass on a repaired log until nothing more is due, and checks that items held by dead sessions are
// returned, silent sessions are lost, and sessions whose time is over are ended.
func (w *world) wait() *Failure {
	if f := w.rest(30 * time.Second); f != nil {
		return f
	}
	if left := w.oracle.holders.left(); len(left) > 0 {
		return failure("3 a dead holder's item is returned", "on a healed log, half a minute later: %v", left)
	}
	if f := w.silence(w.plan.Quiet + 30*time.Second); f != nil {
		return f
	}
	m := w.oracle.model()
	for _, id := range m.sessionIDs {
		switch x := m.sessions[id]; {
		case x.MayBeLost:
			return failure("3 a silent session is lost", "session %s was silent for longer than its lease", id)
		case x.Deadline > 0 && !x.Ended && x.Deadline < w.servers[0].now().UnixMilli() && !w.plan.Leaps:
			return failure("3 each deadline takes effect once", "session %s did not time out at its deadline", id)
		}
	}
	lost := slices.DeleteFunc(slices.Clone(m.sessionIDs), func(id string) bool {
		x, live := m.liveSession(id)
		return !live || !x.Lost || x.Ended
	})
	if len(lost) > 0 {
		w.part(last(lost))
		w.tracef("heartbeat of %s", lost[0])
		w.beat(lost[0])
		if f := w.drain(); f != nil { // at once: a server gives up a write that takes long
			return f
		}
	}
	if f := w.rest(12 * time.Second); f != nil {
		return f
	}
	if len(w.beats) > 0 {
		return failure("a session that calls is heard", "a heartbeat waits, on a healed log")
	}
	if w.plan.Leaps {
		if f := w.outlive(); f != nil {
			return f
		}
	}
	if left := w.oracle.holders.left(); len(left) > 0 {
		return failure("3 a dead holder's item is returned", "on a healed log, when all were lost: %v", left)
	}
	return nil
}

// rest lets time pass, and lets every operation succeed.
func (w *world) rest(d time.Duration) *Failure {
	return w.pass(d, func() {})
}

// silence is rest, but the user deletes the first session whose loss is being written meanwhile.
func (w *world) silence(d time.Duration) *Failure {
	parted := false
	return w.pass(d, func() {
		if ids := w.beingLost(); len(ids) > 0 && !parted {
			parted = true
			w.part(ids[0])
		}
	})
}

func (w *world) pass(d time.Duration, now func()) *Failure {
	w.tracef("%s pass", d)
	for ; d > 0; d -= 3 * time.Second {
		time.Sleep(3 * time.Second)
		synctest.Wait()
		now()
		if f := w.drain(); f != nil {
			return f
		}
	}
	return nil
}

// part has the user delete a session, which sends a heartbeat before its deletion is written.
func (w *world) part(id string) {
	w.submit(w.servers[0], wish{
		by:     admin,
		id:     "session:delete",
		fields: fields{SessionID: id},
		key:    w.key(),
	})
	synctest.Wait()
	w.tracef("heartbeat of %s, while it is deleted", id)
	w.beat(id)
}

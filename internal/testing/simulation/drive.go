package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"maestro/internal/testing/simlog"
)

// hold selects the operations that wait for the driver.
func (w *world) hold(op *simlog.Op) bool { return op.Kind == simlog.Append || w.plan.HoldAll }

// step carries out one step and checks its result.
func (w *world) step(step Step) *Failure {
	rng := rand.New(rand.NewPCG(step.Seed, step.Seed))
	if f := w.take(step.Kind, rng); f != nil {
		return f
	}
	synctest.Wait()
	if f := w.judgeStep(); f != nil || step.Kind != advance {
		return f
	}
	return w.judgeIdle()
}

func (w *world) take(k kind, rng *rand.Rand) *Failure {
	s := w.servers[rng.IntN(len(w.servers))]
	switch k {
	case submit:
		if s.up() {
			w.submit(s, w.compose(rng))
		}
	case burst:
		for range 2 + rng.IntN(5) {
			if s.up() {
				w.submit(s, w.compose(rng))
				synctest.Wait() // they come in this order
			}
		}
	case flood:
		return w.flood(w.servers[0], rng) // the one that has read the initial projects, tasks and sessions
	case resolve:
		w.resolveOne(s, rng)
	case cancel:
		if len(w.waiting) > 0 {
			c := w.waiting[rng.IntN(len(w.waiting))]
			w.tracef("the client of call %d gives up", c.number)
			c.cancelled = true
			c.cancel()
		}
	case advance:
		d := []time.Duration{
			600 * time.Microsecond, time.Millisecond, 700 * time.Millisecond,
			3 * time.Second,
		}[rng.IntN(4)]
		w.tracef("%s pass", d)
		time.Sleep(d)
	case skew:
		offset := time.Duration(rng.IntN(20_000)-10_000) * time.Millisecond
		w.tracef("the clock of %s is set to %s", s.name, offset)
		w.setClock(s, offset)
	case sleep:
		w.tracef("the machine of %s sleeps for 8 h: its monotonic clock stood still", s.name)
		w.skip(s, &s.slept, 8*time.Hour)
	case pause:
		w.tracef("%s is paused for 5 min: nothing of it ran", s.name)
		w.skip(s, &s.paused, 5*time.Minute)
	case heartbeat:
		w.heartbeat(rng)
	case linger:
		return w.linger(rng)
	case deny:
		w.tracef("no refusal can be recorded")
		w.breakDenials(true)
	case record:
		w.breakDenials(false)
	case leap:
		w.leap(s, rng)
	case confirm:
		w.confirm(s)
	case land:
		if w.store.Late() > 0 {
			w.tracef("a late batch lands: %t", w.store.Land(rng.IntN(2) == 0))
		}
	case crash:
		return w.crash(s, rng)
	case powerCut:
		return w.powerCut(rng)
	case stop:
		w.stop(s)
	case start:
		w.start(s, rng)
	case fill:
		w.tracef("the disk fills")
		w.store.SetFull(true)
	case room:
		if w.store.IsFull() {
			w.tracef("there is room on the disk")
			w.store.SetFull(false)
		}
	case flush:
		s.witness.Flush()
	case snapshot:
		w.snapshot(s)
	case damage:
		return w.damage(rng)
	}
	return nil
}

// lateFlood and lateWords say which seeds, modulo 250, flood the log with reports of a session that has ended: with
// many, or with long ones.
const (
	lateFlood = 62
	lateWords = 37
	// mostLateBytes is how many bytes of reports a session delivers after its end.
	mostLateBytes = 256 << 10
)

// flood submits more than fits into one batch (1,000 events or 4 MiB), and lets every operation succeed.
func (w *world) flood(s *server, rng *rand.Rand) *Failure {
	m := w.oracle.model()
	if !s.up() || len(m.projectIDs) == 0 {
		return nil
	}
	n, metadata := 1010, ""
	if rng.IntN(2) == 0 {
		n, metadata = 80, `{"pad":"`+strings.Repeat("x", 60<<10)+`"}`
	}
	wishes := slices.Repeat([]wish{{by: admin, id: "task:create", fields: fields{
		Project: m.projectIDs[0], Title: ptr("One of many"), Metadata: json.RawMessage(metadata),
	}}}, n)
	if len(m.sessionIDs) > 1 {
		switch w.plan.Seed % 250 {
		case lateFlood:
			wishes = m.lateReports(m.sessionIDs[1], slices.Repeat([]string{"Under way"}, 1010)...)
		case lateWords:
			long := slices.Repeat([]string{strings.Repeat("w", 30_000)}, 10)
			rest := strings.Repeat("w", mostLateBytes%30_000)
			wishes = m.lateReports(m.sessionIDs[1], append(long, rest, "w")...)
			early := wishes[1]
			early.occurred = time.UnixMilli(m.sessions[m.sessionIDs[1]].StartedAt - 1).UTC()
			wishes = slices.Insert(wishes, 1, early)
		}
	}
	for _, x := range wishes {
		w.keys++
		x.key = fmt.Sprintf("k%d", w.keys)
		w.submit(s, x)
		synctest.Wait()
	}
	if f := w.drain(); f != nil {
		return f
	}
	time.Sleep(time.Millisecond)
	synctest.Wait()
	if f := w.drain(); f != nil {
		return f
	}
	return w.judgeIdle()
}

// lateReports ends a session and then delivers these reports of it.
func (m *model) lateReports(id string, messages ...string) []wish {
	by := caller{kind: "session", name: id, project: m.sessions[id].Project}
	wishes := []wish{{by: admin, id: "session:kill", fields: fields{SessionID: id}}}
	for _, message := range messages {
		wishes = append(wishes, wish{
			by:       by,
			id:       "report:progress",
			fields:   fields{Message: message},
			occurred: time.UnixMilli(m.at).UTC(),
		})
	}
	return wishes
}

// resolveOne gives one held operation of a server its outcome, mostly success.
func (w *world) resolveOne(s *server, rng *rand.Rand) {
	if s.log == nil {
		return
	}
	held := s.log.Held()
	if len(held) == 0 {
		return
	}
	op := held[rng.IntN(len(held))]
	outcome := simlog.OK
	if outcomes := op.Kind.Outcomes(); rng.IntN(10) < 3 {
		outcome = outcomes[rng.IntN(len(outcomes))]
		if (outcome == simlog.Full || outcome == simlog.FullCached) && rng.IntN(3) > 0 {
			outcome = simlog.LostAfter
		}
	}
	w.resolve(s, op, outcome)
}

func (w *world) resolve(s *server, op *simlog.Op, outcome simlog.Outcome) {
	err := s.log.Resolve(op, outcome)
	firm, cached := w.store.Heads()
	w.tracef("%s of %s: %s: %v (disk %d, cache %d)", op, s.name, outcome, err, firm, cached)
}

// stop closes a server properly, which ends its held operations.
func (w *world) stop(s *server) {
	if !s.up() {
		return
	}
	w.tracef("%s is stopped", s.name)
	closing, handler, denials, looking := make(chan struct{}), s.handler, s.denials, s.looking
	keeps := s.leases != nil
	s.dropLeases()
	s.closing = closing
	go func() {
		defer close(closing)
		if keeps {
			<-looking
		}
		handler.Close()
		denials.Close()
	}()
}

func (w *world) start(s *server, rng *rand.Rand) {
	if !s.down() {
		return
	}
	snapshots, what := s.harmed(rng)
	w.tracef("%s starts with %s", s.name, what)
	s.start(w.store, snapshots, w.hold)
}

func (w *world) snapshot(s *server) {
	if !s.up() {
		return
	}
	w.tracef("%s stores a snapshot", s.name)
	if err := s.handler.Snapshot(context.Background()); err != nil && !errors.Is(err, simlog.ErrBroken) {
		w.fail(failure("a healthy log answers", "the snapshot of %s: %v", s.name, err))
	}
}

// crash kills one server. The cache survives. Of an append in progress nothing, a first part or all is stored; on a
// cluster, nothing or all.
func (w *world) crash(s *server, rng *rand.Rand) *Failure {
	if s.down() {
		return nil
	}
	w.tracef("%s is killed", s.name)
	for _, op := range s.kill() {
		if n := rng.IntN(3); n > 0 {
			n = len(op.Messages) * n / 2
			if len(w.servers) > 1 && n < len(op.Messages) {
				continue // a cluster commits a batch as one
			}
			w.store.Tear(op, n)
			w.tracef("  its %s left %d", op, n)
		}
	}
	s.witness.Crash()
	return w.judgeDisk()
}

// powerCut kills every server and discards everything that is not on disk.
func (w *world) powerCut(rng *rand.Rand) *Failure {
	w.tracef("the power fails")
	for _, s := range w.servers {
		if s.down() {
			continue
		}
		for _, op := range s.kill() {
			w.store.Tear(op, rng.IntN(len(op.Messages)+1))
		}
		s.witness.Crash()
	}
	firm, cached := w.store.Heads()
	w.store.Crash(rng.IntN(int(cached-firm) + 1))
	left, _ := w.store.Heads()
	w.tracef("  on disk were %d, in the cache %d; %d are left", firm, cached, left)
	return w.judgeDisk()
}

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/simlog"
)

// world is one run: a log, its servers, their clients, and what is expected of them.
type world struct {
	plan    Plan
	store   *simlog.Store
	blobs   *simlog.Blobs
	servers []*server
	oracle  *oracle

	calls   []*call
	waiting []*call
	keys    int
	acked   map[uint64][]byte // what was acknowledged, by sequence
	heard   uint64            // the last sequence that was acknowledged or shown
	refused map[string]int    // how many refusals were answered, by who was refused

	began, stepped time.Time // when the run began, and when the last step ended
	lives          []*life
	born           map[string]time.Duration // before when no session of this id was known
	beats          []*beat
	beaten         map[string]time.Duration // when a session's first heartbeat was taken
	crossed        map[string]*life         // by session that was heard while its loss was written: who heard it
	// ahead is how far a wall clock that was taken to be right was ahead of the time since its machine's start, at
	// most; trusting says that there was one.
	ahead    time.Duration
	trusting bool
	// damaged says that the log is harmed just now, so that its servers may say so.
	damaged bool

	trace strings.Builder

	mu     sync.Mutex
	broken *Failure
}

// Result is what a run came to.
type Result struct {
	Failure *Failure
	// Trace tells what happened, a line each.
	Trace string
	// Events, Calls and Acked count what is in the log, what was asked, and what was acknowledged.
	Events, Calls, Acked int
}

// Run carries out a plan and gives the first broken promise, if one breaks. It does not fail t.
func Run(t *testing.T, plan Plan) Result {
	t.Helper()
	var result Result
	// What becomes runnable at one moment runs in the same order every time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(*testing.T) {
		w := &world{
			plan: plan, store: simlog.New(), blobs: simlog.NewBlobs(), acked: map[uint64][]byte{}, refused: map[string]int{},
			began: time.Now(), stepped: time.Now(), born: map[string]time.Duration{},
			beaten: map[string]time.Duration{}, crossed: map[string]*life{},
		}
		w.oracle = newOracle(w.blobs)
		w.oracle.due = w.judgeDue
		for n := range plan.Servers {
			w.servers = append(w.servers, newServer(w, fmt.Sprintf("server %d", n+1)))
		}
		f := w.run()
		w.tearDown()
		if f != nil {
			w.tracef("BROKEN: %v", f)
		}
		result = Result{Failure: f, Trace: w.trace.String(), Events: int(w.oracle.head()), Calls: len(w.calls), Acked: len(w.acked)}
	})
	return result
}

func (w *world) tracef(format string, args ...any) {
	fmt.Fprintf(&w.trace, format+"\n", args...)
}

// fail records the first failure that another goroutine than the driver finds.
func (w *world) fail(f *Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = f
	}
}

func (w *world) failed() *Failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

func (w *world) run() *Failure {
	for _, s := range w.servers {
		s.start(w.store, s.snapshots, nil)
	}
	synctest.Wait()
	for _, s := range w.servers {
		if f := s.settle(); f != nil {
			return f
		}
	}
	if w.plan.Furnished {
		if f := w.furnish(); f != nil {
			return f
		}
	}
	if w.plan.Gossip {
		if f := w.gossip(rand.New(rand.NewPCG(w.plan.Seed, 0x676f7373))); f != nil {
			return f
		}
	}
	for _, s := range w.servers {
		s.log.Hold(w.hold)
	}
	for _, step := range w.plan.Steps {
		if f := w.step(step); f != nil {
			return f
		}
	}
	return w.finish()
}

// furnish gives the run something to work with: projects, tasks, and a session of every sort.
func (w *world) furnish() *Failure {
	ask := w.ask
	m := func() *model { return w.oracle.model() }
	tasks := func(n ...int) *[]string {
		var ids []string
		for _, i := range n {
			ids = append(ids, m().taskIDs[i])
		}
		return &ids
	}
	spawn := func(f fields) *Failure {
		f.Project, f.Strategy = m().projectIDs[0], "queue"
		return ask(admin, "session:spawn", f)
	}
	token := func(name, kind string, projects ...string) *Failure {
		return ask(admin, "token:create", fields{Name: &name, Kind: kind, ProjectIDs: projects})
	}
	makes := func(maker, name string) *Failure {
		if !w.plan.Tokens {
			return nil
		}
		return ask(caller{kind: "admin", name: maker}, "token:create", fields{Name: &name, Kind: "admin"})
	}
	boss := func() caller {
		return caller{kind: "session", name: m().sessionIDs[0], project: m().projectIDs[0]}
	}
	for _, next := range []func() *Failure{
		func() *Failure { return ask(admin, "project:create", fields{Name: ptr("Alpha")}) },
		func() *Failure { return ask(admin, "project:create", fields{Name: ptr("Beta")}) },
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("One")})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Two"), ParentID: m().taskIDs[0]})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Three")})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[1], Title: ptr("Four")})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], Role: "orchestrator", TaskIDs: tasks(0, 2)})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], TaskIDs: tasks(0)})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], Strategy: "queue", TaskIDs: tasks(2)})
		},
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[1], TaskIDs: tasks(3), Allowed: &lists[1]})
		},
		func() *Failure { return ask(boss(), "session:spawn", fields{Strategy: "tree", TaskIDs: tasks(1)}) },
		func() *Failure { return ask(boss(), "project:create", fields{Name: ptr("Gamma")}) },
		func() *Failure {
			return ask(admin, "session:spawn", fields{Project: m().projectIDs[0], Role: "orchestrator", TaskIDs: tasks(2), Allowed: &lists[5]})
		},
		func() *Failure { return token("ann", "admin") },
		func() *Failure { return token("eve", "auditor") },
		func() *Failure { return token("rob", "read-only", m().projectIDs[0]) },
		func() *Failure { return makes("ann", "bob") },
		func() *Failure { return makes("bob", "cat") },
		func() *Failure {
			return ask(admin, "queue:create", fields{Project: m().projectIDs[0], Queue: "line", TrustReports: w.plan.Seed%2 == 0, MaxAttempts: int(w.plan.Seed % 4)})
		},
		func() *Failure { return spawn(fields{Queue: "line", TaskIDs: tasks(0)}) },
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Five"), Dependencies: tasks(0)})
		},
		func() *Failure {
			return ask(admin, "task:create", fields{Project: m().projectIDs[0], Title: ptr("Six")})
		},
		func() *Failure {
			return spawn(fields{Queue: "line", TaskIDs: tasks(4, 1, 5), SpawnedBy: m().sessionIDs[0]})
		},
		func() *Failure { return ask(boss(), "session:spawn", fields{Role: "orchestrator", TaskIDs: tasks(2)}) },
		func() *Failure {
			ids := m().sessionIDs
			middle := caller{kind: "session", name: ids[len(ids)-1], project: m().projectIDs[0]}
			return ask(middle, "session:spawn", fields{TaskIDs: tasks(5)})
		},
	} {
		if f := next(); f != nil {
			return f
		}
	}
	return nil
}

// ask has the first server do a command, and judges what came of it.
func (w *world) ask(by caller, id string, f fields) *Failure {
	w.submit(w.servers[0], wish{by: by, id: id, fields: f, key: w.key()})
	synctest.Wait()
	return w.judgeStep()
}

// key makes a key that nobody has used.
func (w *world) key() string {
	w.keys++
	return fmt.Sprintf("k%d", w.keys)
}

// hold says which operations wait for the driver.
func (w *world) hold(op *simlog.Op) bool { return op.Kind == simlog.Append || w.plan.HoldAll }

// step carries out one step and judges what came of it.
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
		return w.flood(w.servers[0], rng) // the one that has seen the furniture
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
		d := []time.Duration{600 * time.Microsecond, time.Millisecond, 700 * time.Millisecond, 3 * time.Second}[rng.IntN(4)]
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

// flood submits more than one batch takes, more than 1,000 events or more than 4 MiB, and lets all go well.
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

// lateReports ends a session, which then delivers these reports.
func (m *model) lateReports(id string, messages ...string) []wish {
	by := caller{kind: "session", name: id, project: m.sessions[id].Project}
	wishes := []wish{{by: admin, id: "session:kill", fields: fields{SessionID: id}}}
	for _, message := range messages {
		wishes = append(wishes, wish{
			by: by, id: "report:progress", fields: fields{Message: message}, occurred: time.UnixMilli(m.at).UTC(),
		})
	}
	return wishes
}

// resolveOne lets one held operation of a server come to an outcome, mostly a good one.
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

// stop closes a server in order: it ends what is in hand.
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

// crash kills one server. Of a server that embeds the log, the operating system's cache survives; another one leaves behind what it
// had sent.
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

// powerCut kills every server and all that is not on disk.
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

// finish heals everything and expects every wish to come to its end.
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
		return failure("everything ends with an answer", "%d calls still wait, with the log healed", len(w.waiting))
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
			return failure("everything ends with an answer", "%s says of a healed log: %v", s.name, err)
		}
	}
	for _, check := range []func() *Failure{w.judgeDisk, w.oracle.refold, w.judgeLog} {
		if f := check(); f != nil {
			return f
		}
	}
	return nil
}

// quiet reports whether every server is up and nobody waits.
func (w *world) quiet() bool {
	for _, s := range w.servers {
		if !s.up() || len(s.log.Held()) > 0 {
			return false
		}
	}
	return len(w.waiting) == 0 && len(w.beats) == 0 && w.store.Late() == 0
}

// drain resolves held operations with a good outcome until there are none.
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
	return failure("everything ends with an answer", "the servers go on and on, with the log healed")
}

// askAgain repeats, with its key, every wish that has no answer yet, and some that have one: those get the same.
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
			return failure("everything ends with an answer", "call %d was made again on a healed log, and has no answer: %s", c.number, c.wish)
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

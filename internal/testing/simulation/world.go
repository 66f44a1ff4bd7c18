package simulation

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/testing/simlog"
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
	refused map[string]int    // how many refusals were answered, by actor

	began, stepped time.Time // when the run began, and when the last step ended
	lives          []*life
	born           map[string]time.Duration // the earliest time at which a session may have existed, by id
	beats          []*beat
	beaten         map[string]time.Duration // when a session's first heartbeat was sent
	crossed        map[string]*life         // which process heard a session while its loss was being written
	// ahead is the most that a trusted wall clock was ahead of the time since its machine's start; trusting says that
	// there was such a clock.
	ahead    time.Duration
	trusting bool
	// damaged says that the log is damaged now, so that its servers may say so.
	damaged bool

	trace strings.Builder

	mu     sync.Mutex
	broken *Failure
}

// Result is the result of a run.
type Result struct {
	Failure *Failure
	// Trace is the history of the run, one event per line.
	Trace string
	// Events, Calls and Acked count the events in the log, the calls made, and the events acknowledged.
	Events, Calls, Acked int
	// Log are the bodies of the events in the log.
	Log [][]byte
}

// Run carries out a plan and returns the first broken promise, if one breaks. It does not fail t.
func Run(t *testing.T, plan Plan) Result {
	t.Helper()
	var result Result
	// With one processor, goroutines that become runnable at the same time run in the same order every time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(*testing.T) {
		w := &world{
			plan:    plan,
			store:   simlog.New(),
			blobs:   simlog.NewBlobs(),
			acked:   map[uint64][]byte{},
			refused: map[string]int{},
			began:   time.Now(),
			stepped: time.Now(),
			born:    map[string]time.Duration{},
			beaten:  map[string]time.Duration{},
			crossed: map[string]*life{},
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
		result = Result{
			Failure: f,
			Trace:   w.trace.String(),
			Events:  int(w.oracle.head()),
			Calls:   len(w.calls),
			Acked:   len(w.acked),
		}
		for _, m := range w.oracle.messages {
			result.Log = append(result.Log, m.Body)
		}
	})
	return result
}

func (w *world) tracef(format string, args ...any) {
	fmt.Fprintf(&w.trace, format+"\n", args...)
}

// fail records the first failure found by a goroutine other than the driver.
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
	if w.plan.Plans {
		if f := w.plans(); f != nil {
			return f
		}
		if f := w.corners(); f != nil {
			return f
		}
	}
	if w.plan.Messages {
		if f := w.goAbroad(); f != nil {
			return f
		}
		if f := w.handOver(); f != nil {
			return f
		}
	}
	if w.plan.Runs {
		if f := w.launch(); f != nil {
			return f
		}
		if f := w.bounds(rand.New(rand.NewPCG(w.plan.Seed, 0x626f756e6473))); f != nil {
			return f
		}
	}
	if w.plan.Gossip {
		if f := w.gossip(rand.New(rand.NewPCG(w.plan.Seed, 0x676f7373))); f != nil {
			return f
		}
	}
	if w.plan.Fan {
		if f := w.fan(rand.New(rand.NewPCG(w.plan.Seed, 0x66616e6f7574))); f != nil {
			return f
		}
	}
	if w.plan.Chatter {
		if f := w.chatter(); f != nil {
			return f
		}
	}
	if w.plan.Crowd {
		if f := w.crowd(); f != nil {
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

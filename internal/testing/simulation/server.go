package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"maestro/engine"
	"maestro/events"
	"maestro/internal/clock"
	"maestro/internal/testing/simlog"
	"maestro/projections"
)

// server is one process with a Handler, and what it stores beside the log. It may be down, opening, up, or closing.
type server struct {
	w    *world
	name string

	// These survive a crash.
	snapshots *simlog.Snapshots
	witness   *simlog.Witness
	denied    *denied
	beats     *beats
	offset    atomic.Int64 // of its wall clock, in nanoseconds
	paused    atomic.Int64 // how long its process was suspended in total, in nanoseconds
	slept     atomic.Int64 // how long its machine slept in total, in nanoseconds

	// These belong to one life.
	log     *simlog.Log
	handler *engine.Handler
	denials *engine.Denials
	clock   *clock.Clock // nil in runs whose Handlers have the bare wall clock
	opening chan opened
	// leases is nil except on the one server that keeps them; life is what that server heard.
	leases   *engine.Leases
	life     *life
	noLeases context.CancelFunc
	looking  chan struct{}
	closing  chan struct{}
	// troubles counts the operations that failed or took too long, conflicts the latest consecutive conflicts.
	troubles, conflicts atomic.Int64
	from                uint64 // what was on disk when it started; once it is up, it has read all of that
	head                uint64 // of the view, when it was last looked at
	seen                bool   // the view was looked at
	followed            atomic.Uint64
	following           context.Context
	unfollow            context.CancelFunc
	waiters             map[string]chan struct{} // by what they wait for
}

type opened struct {
	handler *engine.Handler
	denials *engine.Denials
	err     error
}

func newServer(w *world, name string) *server {
	s := &server{w: w, name: name}
	s.snapshots = simlog.NewSnapshots(w.snapshotSaved)
	s.witness = simlog.NewWitness(w.headRecorded)
	s.denied, s.beats = newDenied(s), &beats{}
	return s
}

func (s *server) up() bool { return s.handler != nil && s.closing == nil }

func (s *server) down() bool { return s.handler == nil && s.opening == nil }

// start begins a new life with these snapshots.
func (s *server) start(store *simlog.Store, snapshots *simlog.Snapshots, hold func(*simlog.Op) bool) {
	s.log = store.Open()
	s.log.Hold(hold)
	s.log.Watch(s.took)
	s.troubles.Store(0)
	s.conflicts.Store(0)
	s.from, s.head, s.seen = s.w.oracle.head(), 0, false
	s.opening = make(chan opened, 1)
	s.setClockUp()
	config := engine.Config{
		Log:           s.log,
		Blobs:         s.w.blobs,
		Snapshots:     snapshots,
		Witness:       s.witness,
		Now:           s.now,
		After:         time.After,
		SnapshotEvery: s.w.plan.SnapshotEvery,
		OverlapFrom:   s.w.plan.OverlapFrom,
		Shared:        s.w.plan.Servers > 1,
	}
	if s.clock != nil {
		config.Follow = s.clock.Follow
	}
	opening := s.opening
	go func() {
		denials, err := engine.OpenDenialsWithin(
			context.Background(), s.denied, denialBounds(s.w.plan.Seed), s.now, nil,
		)
		if err != nil {
			opening <- opened{err: err}
			return
		}
		config.Denials = denials
		h, err := engine.Open(context.Background(), config)
		if err != nil {
			denials.Close()
		}
		opening <- opened{h, denials, err}
	}()
}

// elapsed is its monotonic clock: it includes pauses, and does not depend on the wall clock.
func (s *server) elapsed() time.Duration {
	return time.Since(s.w.began) + time.Duration(s.paused.Load())
}

// keepLeases starts the leases, if this is the server that keeps them.
func (s *server) keepLeases() {
	if s != s.w.servers[0] || s.handler.Health() != nil {
		return
	}
	leases, err := engine.NewLeases(engine.LeasesConfig{
		Handler: s.handler,
		Elapsed: s.elapsed,
		Boot:    s.boot,
		After:   time.After,
		Beats:   s.beats,
		Lease:   s.w.plan.Lease,
		Quiet:   s.w.plan.Quiet,
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.leases, s.noLeases, s.looking = leases, stop, make(chan struct{})
	s.life = newLife(s.w.lived())
	s.w.lives = append(s.w.lives, s.life)
	go func(looking chan struct{}) {
		defer close(looking)
		leases.Run(ctx)
	}(s.looking)
}

// dropLeases stops the leases.
func (s *server) dropLeases() {
	if s.leases == nil {
		return
	}
	s.noLeases()
	s.life.end(s.w.lived())
	s.leases, s.life = nil, nil
}

// stalls is the time after which an operation that has not returned counts as failed.
const stalls = 2 * time.Second

// stalled reports whether an operation has taken so long that the server may report that the log does not answer.
func (s *server) stalled() bool {
	return s.log != nil && slices.ContainsFunc(s.log.Held(), func(op *simlog.Op) bool {
		return time.Since(op.Began) >= stalls
	})
}

// took records the result of an operation of the server.
func (s *server) took(op *simlog.Op, err error) {
	if time.Since(op.Began) >= stalls {
		s.troubles.Add(1)
	}
	switch {
	case errors.Is(err, events.ErrConflict):
		s.conflicts.Add(1)
	case err != nil:
		s.troubles.Add(1)
	default:
		s.conflicts.Store(0)
	}
}

// settle records that an opening or a closing has finished.
func (s *server) settle() *Failure {
	select {
	case o := <-s.opening:
		s.opening = nil
		if o.err != nil {
			if s.troubles.Load() == 0 {
				return failure("a healthy log opens", "%s: %v", s.name, o.err)
			}
			s.w.tracef("  %s did not open: %v", s.name, o.err)
			return nil
		}
		s.handler, s.denials = o.handler, o.denials
		s.follow()
		s.keepLeases()
		s.w.tracef("  %s is up", s.name)
	default:
	}
	if s.closing == nil {
		return nil
	}
	select {
	case <-s.closing:
		s.handler, s.denials, s.closing = nil, nil, nil
		s.unfollow()
		s.w.loseCalls(s) // calls that were still reading their earlier event
		s.log.Kill()
		s.w.tracef("  %s is down", s.name)
	default:
	}
	return nil
}

// follow waits for each sequence, like a client that reads what it has just written.
func (s *server) follow() {
	ctx, unfollow := context.WithCancel(context.Background())
	s.following, s.unfollow, s.waiters = ctx, unfollow, map[string]chan struct{}{}
	s.followed.Store(0)
	handler := s.handler
	go func() {
		for next := uint64(0); handler.WaitFor(ctx, next) == nil; next++ {
			s.followed.Store(next)
		}
	}()
}

// kill ends the process at once. Its answers no longer reach anybody.
func (s *server) kill() []*simlog.Op {
	s.w.loseCalls(s)
	appends := s.log.Kill()
	if s.unfollow != nil {
		s.unfollow()
	}
	s.dropLeases()
	if s.opening != nil {
		if o := <-s.opening; o.err == nil {
			s.handler, s.denials = o.handler, o.denials
		}
		s.opening = nil
	}
	if s.closing != nil {
		<-s.closing
	} else if s.handler != nil {
		s.handler.Close()
		s.denials.Close()
	}
	s.handler, s.denials, s.closing = nil, nil, nil
	return appends
}

// harmed returns the snapshots that the server starts with: as they are, or none, old ones, damaged ones, or another
// log's.
func (s *server) harmed(rng *rand.Rand) (*simlog.Snapshots, string) {
	sequences, _ := s.snapshots.List(context.Background())
	if len(sequences) == 0 && rng.IntN(2) == 0 {
		return s.snapshots, "no snapshots"
	}
	harmed := s.snapshots.Copy()
	firm, _ := s.w.store.Heads()
	switch how := rng.IntN(11); {
	case how <= 2:
		return s.snapshots, "its snapshots"
	case how == 3:
		harmed.Keep(func(uint64) bool { return false })
		return harmed, "all snapshots lost"
	case how == 4 && len(sequences) > 0:
		oldest := sequences[len(sequences)-1]
		harmed.Keep(func(sequence uint64) bool { return sequence == oldest })
		return harmed, "the oldest snapshot only"
	case how == 5 && len(sequences) > 0:
		harmed.Damage(sequences[0])
		return harmed, "a damaged snapshot"
	case how == 6 && len(sequences) > 0:
		newest, _ := harmed.Load(context.Background(), sequences[0])
		oldest, _ := harmed.Load(context.Background(), sequences[len(sequences)-1])
		what := "a cut snapshot"
		if newest.Sequence != oldest.Sequence && rng.IntN(2) == 0 {
			newest.State, what = oldest.State, "a snapshot with an older state in it"
		} else {
			newest.State = newest.State[:len(newest.State)/2]
		}
		harmed.Put(newest.Sequence, newest)
		return harmed, what
	case how == 7 && len(sequences) > 0:
		newest, _ := harmed.Load(context.Background(), sequences[0])
		newest.Format--
		harmed.Put(newest.Sequence, newest)
		return harmed, "a snapshot of another format"
	case how == 8 && len(sequences) > 0:
		newest, _ := harmed.Load(context.Background(), sequences[0])
		newest.State = foreignSnapshot(newest.Sequence).State
		harmed.Put(newest.Sequence, newest)
		return harmed, "a snapshot with another log's state in it"
	case how == 9:
		harmed.Break()
		s.witness.Damage()
		return harmed, "snapshots and a head file that cannot be read"
	case how == 10 && firm > 0: // with any snapshot, an empty log counts as damaged
		sequence := 1 + rng.Uint64N(firm+3)
		harmed.Put(sequence, foreignSnapshot(sequence))
		return harmed, fmt.Sprintf("another log's snapshot at %d", sequence)
	}
	return s.snapshots, "its snapshots"
}

// foreignSnapshot returns a snapshot of another log.
func foreignSnapshot(sequence uint64) events.Snapshot {
	s := projections.New()
	for n := range sequence {
		id := fmt.Sprintf("proj_foreign%d", n)
		e := &events.Event{
			ID: events.ID(
				"/users/other",
				"",
				"project:create",
				id,
			),
			Source:   "/users/other",
			Project:  id,
			PrevHash: s.Head().Hash,
			Time:     time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
			Rules:    "1",
			Authn:    "token",
			Data:     &events.ProjectCreated{ProjectID: id, Name: "Foreign"},
		}
		body, err := e.Append(nil)
		if err != nil {
			panic(err)
		}
		if _, err := s.Apply(n+1, e, events.BodyHash(body)); err != nil {
			panic(err)
		}
	}
	state, err := s.Encode()
	if err != nil {
		panic(err)
	}
	return events.Snapshot{
		Head:    s.Head(),
		Genesis: s.Genesis(),
		Format:  projections.Format,
		State:   state,
	}
}

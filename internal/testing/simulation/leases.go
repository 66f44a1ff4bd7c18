package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"maestro/engine"
)

// life is what one process that keeps leases heard. Its times are measured in the run's time, which does not include
// pauses of a process and sleep of a machine.
type life struct {
	began, ended time.Duration
	dead         bool
	// quiet is when the process last had nothing in progress: whatever it appends later was requested after that.
	quiet time.Duration
	heard map[string][]time.Duration
	// troubles is the number of its failed operations at quiet.
	troubles int64
}

func newLife(began time.Duration) *life {
	return &life{began: began, quiet: began, heard: map[string][]time.Duration{}}
}

func (l *life) hear(session string, at time.Duration) {
	l.heard[session] = append(l.heard[session], at)
}

func (l *life) end(at time.Duration) { l.ended, l.dead = at, true }

// longestSilence returns the longest time in which the process did not hear a session. It considers only silences on
// which a command that is not finished at quiet can be based.
func (l *life) longestSilence(session string, born, now time.Duration) time.Duration {
	if l.dead {
		now = l.ended
	}
	var longest time.Duration
	from := max(l.began, born)
	for _, at := range append(l.heard[session][:len(l.heard[session]):len(l.heard[session])], now) {
		if at >= l.quiet-time.Millisecond {
			longest = max(longest, at-from)
		}
		from = max(from, at)
	}
	return longest
}

// lived is the time that has passed in the run.
func (w *world) lived() time.Duration { return time.Since(w.began) }

// judgeDue compares an event caused by the Leases with what their server has heard.
func (w *world) judgeDue(before *model, x wish) *Failure {
	s, session := w.servers[0], x.fields.SessionID
	switch x.id {
	case "session:lost":
		lease := time.Duration(x.fields.Lease) * time.Millisecond
		if s.life != nil && s.life.troubles == s.troubles.Load() {
			for _, at := range s.life.heard[session] {
				if at >= s.life.quiet && w.lived()-at < lease {
					w.crossed[session] = s.life
				}
			}
		}
		x := before.sessions[session]
		return w.judgeLoss(session, lease, x.AwaitsRunner || x.Run.Number > 1)
	case "session:recovered":
		delete(w.crossed, session)
	case "queue:return", "queue:quarantine":
		i := before.itemOf(x.fields.Project, x.fields.Queue, x.fields.TaskID)
		if heard := w.crossed[i.Holder]; heard != nil && heard == s.life && before.sessions[i.Holder].Fate == "lost" &&
			heard.troubles == s.troubles.Load() {
			return failure(
				"3 a session that is heard keeps its item",
				"session %s was heard while its loss was written, but its item %s was taken from it",
				i.Holder,
				i.Task,
			)
		}
	}
	return nil
}

// judgeCrossed checks a server that has nothing in progress and has had time to gather a batch: the sessions that it
// heard while their loss was being written are recovered.
func (w *world) judgeCrossed() *Failure {
	s := w.servers[0]
	if s.life == nil || !s.up() || s.handler.Health() != nil || len(s.log.Held()) > 0 ||
		s.life.troubles != s.troubles.Load() {
		return nil
	}
	m := w.oracle.model()
	for _, id := range m.sessionIDs {
		if x := m.sessions[id]; w.crossed[id] == s.life && x.Lost && !x.Ended {
			return failure(
				"a session that calls is heard",
				"session %s was heard while its loss was written, but is still lost",
				id,
			)
		}
	}
	return nil
}

// judgeLoss compares the loss of a session with what its server has heard. quiet says that the session may be silent
// for longer although it has sent heartbeats: it waits for a runner, or it was resumed, and its server has forgotten
// them.
func (w *world) judgeLoss(session string, lease time.Duration, quiet bool) *Failure {
	var longest time.Duration
	for _, l := range w.lives {
		longest = max(longest, l.longestSilence(session, w.born[session], w.lived()))
	}
	if longest < lease-time.Millisecond {
		return failure(
			"3 a session that is heard is not lost",
			"session %s was marked lost after its lease of %s, and was silent for %s",
			session,
			lease,
			longest,
		)
	}
	beaten, beats := w.beaten[session]
	life := w.servers[0].life
	late := life == nil || beaten >= life.quiet ||
		w.lived()-beaten < lease // it may have been requested before the first heartbeat
	switch {
	case lease == w.plan.Lease && beats, lease == w.plan.Quiet && (!beats || late || quiet):
	default:
		return failure(
			"3 a session that is heard is not lost",
			"session %s (heartbeats: %t) was marked lost after a lease of %s",
			session,
			beats,
			lease,
		)
	}
	return nil
}

// settleLives records when the servers have nothing in progress, and drops lives of dead processes that can append
// nothing more.
func (w *world) settleLives() {
	firm, cached := w.store.Heads()
	if w.store.Late() > 0 || firm != cached {
		return
	}
	for _, s := range w.servers {
		if s.closing != nil { // it may still append
			return
		}
	}
	var lives []*life
	for _, l := range w.lives {
		if !l.dead {
			lives = append(lives, l)
		}
	}
	w.lives = lives
	for _, s := range w.servers {
		if s.life != nil && s.up() && len(s.log.Held()) == 0 {
			if s.life.troubles != s.troubles.Load() { // what failed may stay undone until the session calls again
				clear(w.crossed)
			}
			s.life.quiet, s.life.troubles = w.lived(), s.troubles.Load()
		}
	}
}

// beats remembers across restarts which sessions have sent heartbeats.
type beats struct {
	mu       sync.Mutex
	sessions []string
}

// Load implements engine.HeartbeatStore.
func (b *beats) Load() ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sessions), nil
}

// Add implements engine.HeartbeatStore.
func (b *beats) Add(session string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = append(b.sessions, session)
	return nil
}

// Keep implements engine.HeartbeatStore.
func (b *beats) Keep(sessions []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = slices.Clone(sessions)
	return nil
}

// beat is one heartbeat on its way.
type beat struct {
	server  *server
	session string
	lo      uint64 // what the server showed when it was sent
	cancel  context.CancelFunc
	ended   chan struct{}
	err     error
	lost    bool // the server died first
}

func (w *world) beat(id string) {
	s := w.servers[0]
	if !s.up() || s.leases == nil {
		return
	}
	for _, b := range w.beats {
		if b.session == id {
			return // its previous heartbeat is still waiting
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &beat{
		server:  s,
		session: id,
		lo:      s.head,
		cancel:  cancel,
		ended:   make(chan struct{}),
	}
	w.beats = append(w.beats, b)
	s.life.hear(id, w.lived())
	if _, known := w.beaten[id]; !known {
		w.beaten[id] = w.lived()
	}
	go func(leases *engine.Leases) {
		defer close(b.ended)
		b.err = leases.Heartbeat(ctx, id)
	}(s.leases)
	synctest.Wait()
}

// judgeBeats checks the heartbeats that were answered since the last step.
func (w *world) judgeBeats() *Failure {
	var waiting []*beat
	for _, b := range w.beats {
		select {
		case <-b.ended:
		default:
			waiting = append(waiting, b)
			continue
		}
		b.cancel()
		var unavailable *engine.UnavailableError
		switch {
		case b.lost, errors.As(b.err, &unavailable):
		case b.err != nil:
			return failure("a session that calls is heard", "the heartbeat of session %s came to: %v", b.session, b.err)
		case !w.wasThere(b):
			return failure("a session that calls is heard", "session %s was heard, and is lost still", b.session)
		}
	}
	w.beats = waiting
	return nil
}

// wasThere reports whether at some moment since its heartbeat the session was not lost.
func (w *world) wasThere(b *beat) bool {
	for at := b.lo; at <= w.oracle.head(); at++ {
		m := w.oracle.ground(at).model()
		if x, live := m.liveSession(b.session); !live || x.Ended || !x.Lost {
			return true
		}
	}
	return false
}

// heartbeat sends heartbeats of some sessions.
func (w *world) heartbeat(rng *rand.Rand) {
	for _, id := range w.some(rng, 40) {
		w.tracef("heartbeat of %s", id)
		w.beat(id)
	}
	w.rescue(rng)
}

// rescue sends heartbeats of some sessions whose loss is being written.
func (w *world) rescue(rng *rand.Rand) {
	if !w.servers[0].up() {
		return
	}
	for _, id := range w.beingLost() {
		if rng.IntN(2) > 0 {
			w.tracef("heartbeat of %s, while its loss is written", id)
			w.beat(id)
		}
	}
}

// beingLost returns the sessions whose loss is being written.
func (w *world) beingLost() []string {
	var ids []string
	for _, op := range w.servers[0].log.Held() {
		for _, m := range op.Messages {
			var e envelope
			var d told
			if json.Unmarshal(m.Body, &e) == nil && e.Type == "maestro.session.lost.v1" &&
				json.Unmarshal(e.Data, &d) == nil {
				ids = append(ids, d.SessionID)
			}
		}
	}
	return ids
}

// some draws from the sessions that have not ended.
func (w *world) some(rng *rand.Rand, percent int) []string {
	m := w.oracle.model()
	var drawn []string
	for _, id := range m.sessionIDs {
		if x, live := m.liveSession(id); live && !x.Ended && rng.IntN(100) < percent {
			drawn = append(drawn, id)
		}
	}
	return drawn
}

// linger lets a long time pass in which some sessions send heartbeats every ten seconds, and the log makes progress or
// does not.
func (w *world) linger(rng *rand.Rand) *Failure {
	d := []time.Duration{10 * time.Second, 45 * time.Second, 2 * time.Minute, 17 * time.Minute}[rng.IntN(4)]
	beating := w.some(rng, 50)
	going := rng.IntN(4) > 0
	w.tracef("%s pass, with heartbeats of %v", d, beating)
	step := 2971 * time.Millisecond
	if d > 10*time.Minute {
		step = 9973 * time.Millisecond
	}
	var beaten time.Duration
	for ; d > 0; d -= step {
		if beaten == 0 || w.lived()-beaten > 8*time.Second {
			beaten = w.lived()
			for _, id := range beating {
				w.beat(id)
			}
		}
		time.Sleep(min(d, step))
		synctest.Wait()
		if f := w.judgeStep(); f != nil {
			return f
		}
		if f := w.judgeCrossed(); f != nil {
			return f
		}
		if rng.IntN(4) == 0 {
			w.rescue(rng)
		}
		for range 3 {
			if !going {
				break
			}
			w.resolveOne(w.servers[rng.IntN(len(w.servers))], rng)
			synctest.Wait()
			if f := w.judgeStep(); f != nil {
				return f
			}
		}
	}
	return nil
}

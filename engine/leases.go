package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"maestro/commands"
	"maestro/projections"
)

const (
	// DefaultLease is how long a session that sends heartbeats may be silent.
	DefaultLease = time.Minute
	// QuietLease is how long a session that never sent a heartbeat may be silent.
	QuietLease = 15 * time.Minute

	// The leases are checked this many times per lease, within bounds.
	looksPerLease = 6
	lookAtLeast   = 5 * time.Second
	lookAtMost    = 20 * time.Millisecond
	// Between two checks of the leases, deadlines are checked this often, which is how late a session times out.
	lookAtDeadlines = time.Second
	// A check that is late by this many intervals follows a pause of the whole process.
	pauseAfter = 3
)

// LeasesConfig configures Leases. Handler, Elapsed and After are required.
type LeasesConfig struct {
	Handler *Handler
	// Elapsed is the monotonic clock: the time since an arbitrary moment. It may stop while the machine sleeps.
	Elapsed func() time.Duration
	// Boot is a clock like Elapsed that continues during sleep. Deadlines of sessions run on it. Elapsed if nil.
	Boot func() time.Duration
	// After is the timer of these clocks.
	After func(time.Duration) <-chan time.Time
	// Beats remembers across restarts which sessions have sent heartbeats; nil if nothing does.
	Beats HeartbeatStore
	// Lease is the lease of sessions that have sent heartbeats, Quiet that of all others; the defaults if 0.
	Lease, Quiet time.Duration
	Logger       *slog.Logger
}

// HeartbeatStore remembers which sessions have sent heartbeats. Lost data costs time, never correctness.
type HeartbeatStore interface {
	Load() (sessions []string, err error)
	Add(session string) error
	// Keep forgets all sessions but these.
	Keep(sessions []string) error
}

// Leases remembers, in memory, when each session was last heard, and issues the system's commands that become due with
// time: it marks a session as lost, recovered or timed out, and returns the item of a session that can no longer hold
// one. All leases restart when the process starts and when it resumes after a pause. Safe for concurrent use.
//
// Every check also looks for what the state alone makes due (an item held by a session that has ended), so that a crash
// between an end and its consequence loses nothing. The end of a session triggers such a check at once; a timer
// triggers the checks for elapsed time.
type Leases struct {
	config LeasesConfig
	every  time.Duration
	pulse  pulse

	mu    sync.Mutex
	heard map[string]hearing
	// since is when all leases began; looked is when they were last checked.
	since, looked time.Duration
	// deadlines are when sessions time out, on the clock that continues during sleep.
	deadlines map[string]deadline
}

// hearing is when a session was last heard, and whether it ever sent a heartbeat.
type hearing struct {
	at    time.Duration
	beats bool
	// called is when the session last called, if it ever did. at differs: pauses move it, and sessions that never
	// called have it too.
	called       time.Duration
	heardByCalls bool
	// launch is what the session's silence is counted from, besides its calls.
	launch launch
}

// launch tells the runs of a session apart, and whether it was resumed after the last one: a session that waits for its
// runner, or whose agent was just launched, has not been silent.
type launch struct {
	known   bool
	run     int
	resumed bool
}

func launchOf(x *projections.Session) launch {
	return launch{true, x.NextRun() - 1, x.LastRun().IsResumed()}
}

// NewLeases creates leases that all begin now. Run enforces them.
func NewLeases(config LeasesConfig) (*Leases, error) {
	if config.Handler == nil || config.Elapsed == nil || config.After == nil {
		return nil, errors.New("engine: Leases need a Handler and a clock")
	}
	if config.Lease == 0 {
		config.Lease = DefaultLease
	}
	if config.Boot == nil {
		config.Boot = config.Elapsed
	}
	if config.Quiet == 0 {
		config.Quiet = max(QuietLease, config.Lease)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Leases{
		config:    config,
		heard:     map[string]hearing{},
		deadlines: map[string]deadline{},
		every:     min(max(config.Lease/looksPerLease, lookAtMost), lookAtLeast),
		pulse:     pulse{elapsed: config.Elapsed},
	}
	l.since = config.Elapsed()
	l.looked = l.since
	l.remember()
	return l, nil
}

// remember loads the sessions that are known to send heartbeats.
func (l *Leases) remember() {
	if l.config.Beats == nil {
		return
	}
	known, err := l.config.Beats.Load()
	if err != nil {
		l.config.Logger.Warn("which sessions sent heartbeats is not known", "why", err)
		return
	}
	var alive []string
	l.config.Handler.View(func(s *projections.State) {
		for _, id := range known {
			if x := s.Session(id); x != nil && !x.Ended() && !slices.Contains(alive, id) {
				alive = append(alive, id)
				l.heard[id] = hearing{at: l.since, beats: true}
			}
		}
	})
	if err := l.config.Beats.Keep(alive); err != nil {
		l.config.Logger.Warn("which sessions sent heartbeats could not be noted", "why", err)
	}
}

// Lease is how long a session that sends heartbeats may be silent.
func (l *Leases) Lease() time.Duration { return l.config.Lease }

// LastHeard returns how long ago a session last called; false if it has not called since this process began.
func (l *Leases) LastHeard(session string) (ago time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.heard[session]
	return l.config.Elapsed() - h.called, h.heardByCalls
}

// Heard notes that a session called. A session that is marked as lost is recovered first, so that its command is
// decided on a live session. It fails only when the recovery cannot be written.
func (l *Leases) Heard(ctx context.Context, session string) error { return l.hear(ctx, session, false) }

// Heartbeat is Heard for a session whose supervisor reports regularly that it is alive.
func (l *Leases) Heartbeat(ctx context.Context, session string) error {
	return l.hear(ctx, session, true)
}

func (l *Leases) hear(ctx context.Context, session string, beat bool) error {
	l.mu.Lock()
	h := l.heard[session]
	first := beat && !h.beats
	h.at, h.beats = l.config.Elapsed(), h.beats || beat
	h.called, h.heardByCalls = h.at, true
	l.heard[session] = h
	l.mu.Unlock()
	if first && l.config.Beats != nil {
		if err := l.config.Beats.Add(session); err != nil {
			l.config.Logger.Warn("that a session sends heartbeats could not be noted", "session", session, "why", err)
		}
	}
	return l.recover(ctx, session)
}

// recover removes the mark of a lost session.
func (l *Leases) recover(ctx context.Context, session string) error {
	var lost *projections.Session
	l.config.Handler.View(func(s *projections.State) {
		if x := s.Session(session); x != nil && x.Lost() && !x.Ended() {
			lost = x
		}
	})
	if lost == nil {
		return nil
	}
	err := l.do(ctx, &commands.RecoverSession{SessionID: lost.ID}, fmt.Sprintf("recovered/%s/%d", lost.ID, lost.Losses))
	if err == nil {
		l.config.Logger.Info("a lost session is heard again", "session", lost.ID)
	}
	var refusal *commands.Refusal
	if errors.As(err, &refusal) { // it was deleted meanwhile
		return nil
	}
	return err
}

// Run enforces the leases until ctx ends.
func (l *Leases) Run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { l.pulse.run(ctx, l.every, l.config.After) })
	defer beating.Wait()
	defer stop()
	l.look(ctx)
	timer := l.config.After(l.every) // sessions that end do not postpone it
	atDeadlines := l.config.After(min(l.every, lookAtDeadlines))
	for ctx.Err() == nil {
		select {
		case <-timer:
			l.look(ctx)
			timer = l.config.After(l.every)
		case <-atDeadlines:
			l.timeOut(ctx)
			atDeadlines = l.config.After(min(l.every, lookAtDeadlines))
		case <-l.config.Handler.gone:
			l.giveBack(ctx)
		case <-ctx.Done():
		}
	}
}

// look issues the commands that are due.
func (l *Leases) look(ctx context.Context) {
	if !l.ready(ctx) {
		return
	}
	var due []due
	paused := l.paused()
	l.config.Handler.View(func(s *projections.State) {
		due = append(due, abandonedItems(s)...)
		if !paused {
			due = append(due, l.silent(s)...)
		}
		due = append(due, l.overdue(s)...)
	})
	l.doAll(ctx, due)
}

// giveBack returns the items whose holders have ended.
func (l *Leases) giveBack(ctx context.Context) {
	if !l.ready(ctx) {
		return
	}
	var due []due
	l.paused() // a pause is noted here too; what the sessions hold does not depend on it
	l.config.Handler.View(func(s *projections.State) { due = abandonedItems(s) })
	l.doAll(ctx, due)
}

// timeOut ends the sessions that have timed out. It does not wait for what other servers wrote: a command that their
// events make void is refused when it is decided.
func (l *Leases) timeOut(ctx context.Context) {
	var due []due
	l.config.Handler.View(func(s *projections.State) { due = l.overdue(s) })
	if len(due) == 0 || l.config.Handler.Health() != nil {
		return
	}
	l.paused() // a pause is noted here too; a deadline does not depend on it
	l.doAll(ctx, due)
}

// ready reports whether the log takes writes and the state is up to date.
func (l *Leases) ready(ctx context.Context) bool {
	return l.config.Handler.Health() == nil && l.config.Handler.refresh(ctx) == nil
}

func (l *Leases) doAll(ctx context.Context, due []due) {
	for _, d := range due {
		if d.session != "" && !l.stillSilent(d) {
			continue
		}
		err := l.do(ctx, d.command, d.key)
		if lost, ok := d.command.(*commands.LoseSession); ok && err == nil {
			l.config.Logger.Warn("a session is lost: nothing is heard from it", "session", lost.SessionID,
				"silent", time.Duration(lost.SilentFor)*time.Millisecond)
		}
		if err == nil && d.session != "" && !l.stillSilent(d) {
			err = l.recover(ctx, d.session) // it called while its loss was being written, before the mark was there
		}
		if err != nil && ctx.Err() == nil {
			l.config.Logger.Warn("what is due could not be done; trying again", "command", d.command.ID(), "why", err)
		}
		// Issuing the commands is no pause, but the process may have been stopped meanwhile.
		if l.paused() {
			return
		}
	}
}

// due is a command that the system must issue because of elapsed time. Its key is derived from the state, so that it is
// executed once.
type due struct {
	command commands.Command
	key     string
	// session is set if the command is due because this session was silent.
	session string
}

// paused reports whether this check follows a pause of the process; all leases then restart. If the process ran but the
// server was held up, the leases continue from where they were instead.
func (l *Leases) paused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Elapsed()
	pause, before := now-l.looked, l.looked
	l.looked = now
	missed, beating := l.pulse.missed()
	if pause <= pauseAfter*l.every {
		return false
	}
	if beating && missed <= pauseAfter*l.every {
		l.config.Logger.Warn("the server was held up; this time does not count against leases", "held", pause)
		l.holdUp(before, pause)
		return false
	}
	l.config.Logger.Info("woke from a pause; all leases start again", "pause", pause)
	l.since = now
	return true
}

// holdUp subtracts time in which the server could hear nobody from the silence of the sessions heard before. The caller
// holds mu.
func (l *Leases) holdUp(before, held time.Duration) {
	l.since += held
	for session, h := range l.heard {
		if h.at <= before {
			h.at += held
			l.heard[session] = h
		}
	}
}

// silence returns how long a session had been silent when this check began, and its lease. Time that passes during the
// check does not count, because the process may have been stopped in it.
func (l *Leases) silence(session string) (silent, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.heard[session]
	lease = l.config.Quiet
	if h.beats {
		lease = l.config.Lease
	}
	return l.looked - max(h.at, l.since), lease
}

func (l *Leases) stillSilent(d due) bool {
	silent, lease := l.silence(d.session)
	return silent >= lease
}

// silent returns the sessions whose lease has run out. The lease of a session that was created after all leases began
// starts with its creation.
func (l *Leases) silent(s *projections.State) []due {
	var found []due
	l.begin(s)
	for x := range s.Living() {
		if !commands.MayBeLost(s, x) {
			continue
		}
		silent, lease := l.silence(x.ID)
		if x.AwaitsRunner() { // nobody sends heartbeats for it
			lease = l.config.Quiet
		}
		if silent >= lease {
			found = append(found, due{
				command: &commands.LoseSession{
					SessionID: x.ID,
					SilentFor: silent.Milliseconds(),
					Lease:     lease.Milliseconds(),
				},
				key: fmt.Sprintf("lost/%s/%d", x.ID, x.Losses+1), session: x.ID,
			})
		}
	}
	return found
}

// begin starts a lease for every session that was never heard, and forgets those that have ended.
func (l *Leases) begin(s *projections.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Elapsed()
	for x := range s.Living() {
		switch h, known := l.heard[x.ID]; {
		case !known:
			l.heard[x.ID] = hearing{at: now, launch: launchOf(x)}
		case !h.launch.known: // it called before it was seen here
			h.launch = launchOf(x)
			l.heard[x.ID] = h
		case h.launch != launchOf(x):
			h.at, h.launch = now, launchOf(x)
			l.heard[x.ID] = h
		}
	}
	for id := range l.heard {
		if x := s.Session(id); x == nil || x.Ended() {
			delete(l.heard, id)
		}
	}
}

// abandonedItems returns the items whose holders can no longer hold one.
func abandonedItems(s *projections.State) []due {
	var found []due
	for item := range s.Held() {
		if s.Gone(item.SessionID) == "" {
			continue
		}
		in := commands.ProjectRef{Project: item.ProjectID}
		key := fmt.Sprintf("given back/%d", item.Started)
		if item.Attempts >= s.Queue(item.ProjectID, item.Queue).MaxAttempts {
			found = append(
				found,
				due{
					command: &commands.QuarantineItem{ProjectRef: in, Queue: item.Queue, TaskID: item.TaskID},
					key:     key,
				},
			)
			continue
		}
		found = append(
			found, due{command: &commands.ReturnItem{ProjectRef: in, Queue: item.Queue, TaskID: item.TaskID}, key: key},
		)
	}
	return found
}

func (l *Leases) do(ctx context.Context, command commands.Command, key string) error {
	_, err := l.config.Handler.Do(ctx, Request{By: commands.System(), Command: command, Key: key})
	return err
}

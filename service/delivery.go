package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"maestro/projections"
	"maestro/workers/outbox"
)

// Delivery delivers the commands that sessions on this machine kept while the server was away, if the session runs no
// further command: a session's own next command would deliver them too. Each takes the same path as every command,
// [Service.Do].
type Delivery struct {
	service *Service
	home    *outbox.Home
	logger  *slog.Logger
	// mu is held while the maps of rests, of refusals and of replaced are used: a resume takes turns beside Run.
	mu sync.Mutex
	// rests is the time until which a session has no turn, because its last one used more than its share of the writer.
	rests map[string]time.Time
	// quarantined is the number of entries that were set aside in each session's outbox at the last check.
	quarantined map[string]int
	// replaced is the same for those of a former secret, with what was set aside and logged since; nil before the first
	// check.
	replaced map[string]int
	// noted are the keys of the refusals that each session has not seen since this server began.
	noted map[string][]string
	// warned is the read error of the last check, so that it is logged only once.
	warned map[string]string
	rounds int
}

// Deliver returns a Delivery for the commands in a home's outboxes.
func (s *Service) Deliver(home *outbox.Home) *Delivery {
	d := &Delivery{
		service: s,
		home:    home,
		logger:  s.Logger,
		rests:   map[string]time.Time{},
		noted:   map[string][]string{},
	}
	s.delivery.Store(d)
	return d
}

const (
	// deliverEvery is how often the outboxes are checked.
	deliverEvery = 5 * time.Second
	// removeEvery is the number of checks between two removals of empty outboxes.
	removeEvery = 12
	// busyPatience bounds the wait for a locked outbox: it may stay locked, and the others must not wait for it.
	busyPatience = 250 * time.Millisecond
	// turnEvery is how often a session with more entries gets a turn. turnEntries and turnSteps bound one turn: as much
	// as its quota of commands, so that kept commands are delivered at the rate of new ones.
	turnEvery   = 250 * time.Millisecond
	turnEntries = 50
	turnSteps   = turnEntries * StepsPerCommand
	// turnMost is what a turn may take beyond the patience for a locked outbox. One that is not locked leaves the turn
	// both.
	turnMost = time.Second
)

// Run delivers until ctx ends, or the server begins to stop.
func (d *Delivery) Run(ctx context.Context) {
	ctx, done := d.service.UntilStop(ctx)
	defer done()
	for {
		next := deliverEvery
		if d.service.Health() == nil && d.all(ctx) {
			next = turnEvery
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
	}
}

// all gives each session a turn, and reports whether any has more.
func (d *Delivery) all(ctx context.Context) (more bool) {
	warned := map[string]string{}
	warn := func(session, message string, err error) {
		if err == nil {
			return
		}
		why := inFull(err)
		warned[session+message] = why
		if d.warned[session+message] != why {
			d.logger.Warn(message, "session", session, "why", why, "then", "the server tries again")
		}
	}
	defer func() { d.warned = warned }()
	sessions, err := outbox.Sessions(ctx, d.home)
	if ctx.Err() == nil {
		warn("", "the outboxes of the home cannot all be read", err)
	}
	resting := d.resting()
	for _, session := range sessions {
		if ctx.Err() != nil {
			return more
		}
		if resting[session] {
			more = true
			continue
		}
		_, left := d.take(ctx, session, busyPatience, warn)
		more = more || left
	}
	if d.rounds%removeEvery == 0 {
		_, err := outbox.RemoveEmpty(ctx, d.home)
		if ctx.Err() == nil {
			warn("", "empty outboxes could not be removed", err)
		}
	}
	d.rounds++
	d.lookSeen()
	err = d.lookAside(ctx)
	if ctx.Err() == nil {
		warn("", "entries that were set aside cannot all be counted", err)
	}
	return more
}

// resting returns the sessions that have no turn yet.
func (d *Delivery) resting() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.rests, func(_ string, until time.Time) bool { return !time.Now().Before(until) })
	resting := make(map[string]bool, len(d.rests))
	for session := range d.rests {
		resting[session] = true
	}
	return resting
}

// inFull returns an error with all details of its problem.
func inFull(err error) string {
	var p *Problem
	if errors.As(err, &p) {
		return p.Message + ": " + p.Why + "; " + p.Next
	}
	return err.Error()
}

// take gives a session a turn: it delivers a part of the session's kept commands, and reports whether there are more,
// and how long the session has no further turn.
func (d *Delivery) take(
	ctx context.Context, session string, patience time.Duration, warn func(session, message string, err error),
) (rest time.Duration, more bool) {
	t := &turn{service: d.service, logger: d.logger, session: session}
	box, err := outbox.Open(d.home, session, t.secretNow)
	if err != nil {
		warn(session, "an outbox cannot be opened", err)
		return 0, false
	}
	t.box = box
	within, cancel := context.WithTimeout(ctx, patience+turnMost)
	defer cancel()
	delivered, err := box.Deliver(within, patience, t.deliver, t.reject)
	rest = d.note(session, t)
	if delivered.Delivered > 0 {
		d.logger.Info("delivered kept commands", "session", session, "count", delivered.Delivered-t.refused,
			"refused", t.refused)
	}
	for _, damaged := range delivered.Damaged {
		if damaged.Replaced {
			d.logger.Warn("a kept command with a replaced secret was set aside, and is shown in the inbox", "session",
				session, "file", damaged.File, "why", damaged.Why)
			d.logged(session)
			continue
		}
		d.logger.Error(
			"a kept command is damaged and was set aside", "session", session, "file", damaged.File, "why", damaged.Why,
		)
	}
	switch {
	case errors.Is(err, errTurnOver):
		return rest, true
	case errors.Is(err, context.DeadlineExceeded):
		return rest, t.entries > 0
	case ctx.Err() == nil:
		warn(session, "kept commands could not be delivered", err)
	}
	return rest, false
}

// lookSeen finds sessions that were shown their refusals since: their next command takes what was noted for them.
func (d *Delivery) lookSeen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for session, keys := range d.noted {
		box, err := outbox.Open(d.home, session, func() string { return "" })
		if err != nil {
			continue
		}
		if unseen, err := box.HasRefused(); err != nil || unseen {
			continue
		}
		seen := make(map[string]bool, len(keys))
		for _, key := range keys {
			seen[key] = true
		}
		source := ""
		d.service.Handler.View(func(s *projections.State) {
			source = projections.SessionSource(s.SessionProject(session), session)
		})
		d.service.Denials.MarkTold(source, seen)
		delete(d.noted, session)
	}
}

// note remembers which refusals a session has not seen, and how long it has no turn, which it returns.
func (d *Delivery) note(session string, t *turn) (rest time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest = max(t.rest, time.Duration(t.steps/turnSteps)*turnEvery); rest > 0 {
		d.rests[session] = time.Now().Add(rest)
	}
	if len(t.noted) == 0 || d.service.Denials == nil {
		return rest
	}
	noted := append(d.noted[session], t.noted...)
	d.noted[session] = noted[max(0, len(noted)-outbox.MostRefused):]
	return rest
}

// logged notes that an entry of a former secret was set aside and logged.
func (d *Delivery) logged(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replaced != nil {
		d.replaced[session]++
	}
}

// lookAside logs entries that were set aside since the last check, including those that a session's own command set
// aside. It does not repeat after a restart what is in replaced/: nothing is wrong there, and the inbox shows it.
func (d *Delivery) lookAside(ctx context.Context) error {
	quarantined, err := outbox.SetAside(ctx, d.home)
	for session, n := range quarantined {
		if n > d.quarantined[session] {
			dir, _ := outbox.AsideDirs(session)
			d.logger.Error(
				"kept commands were set aside and are not delivered", "session", session, "count", n, "directory", dir,
			)
		}
	}
	d.quarantined = quarantined
	d.mu.Lock()
	defer d.mu.Unlock()
	replaced, failed := outbox.Replaced(ctx, d.home)
	for session, n := range replaced {
		if d.replaced != nil && n > d.replaced[session] {
			_, dir := outbox.AsideDirs(session)
			d.logger.Warn(
				"kept commands with a replaced secret were set aside", "session", session, "count", n, "directory", dir,
			)
		}
	}
	d.replaced = replaced
	return errors.Join(err, failed)
}

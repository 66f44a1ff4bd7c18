package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"maestro/workers/outbox"
)

// Delivery brings the commands that sessions on this machine kept while the server was away, for sessions that have no
// next command: it is what a session's own next command would do. Each goes the way of every command, [Service.Do].
type Delivery struct {
	service *Service
	home    *outbox.Home
	logger  *slog.Logger
	// rests says until when a session has no turn: its last one was more than its share of the writer.
	rests map[string]time.Time
	// quarantined is how many entries each session's outbox had set aside at the last look.
	quarantined map[string]int
	// warned is why something could not be read at the last look, so that the log says it once.
	warned map[string]string
	rounds int
}

// Deliver returns what delivers the commands that the outboxes of a home hold.
func (s *Service) Deliver(home *outbox.Home) *Delivery {
	return &Delivery{
		service: s,
		home:    home,
		logger:  s.Logger,
		rests:   map[string]time.Time{},
	}
}

const (
	// deliverEvery is how often the outboxes are looked at.
	deliverEvery = 5 * time.Second
	// removeEvery is how many looks there are between two removals of empty outboxes.
	removeEvery = 12
	// busyPatience is how long the server waits for an outbox that is locked: it may stay so, and the others must not
	// wait for it.
	busyPatience = 250 * time.Millisecond
	// turnEvery is how often a session whose outbox has more gets a turn, and turnEntries and turnSteps are what it may
	// bring in one: as much as its quota of commands, so what was kept comes as fast as what is said now.
	turnEvery   = 250 * time.Millisecond
	turnEntries = 50
	turnSteps   = turnEntries * StepsPerCommand
	// turnMost is how long one turn may take.
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

// all returns each session a turn, and reports whether any has more.
func (d *Delivery) all(ctx context.Context) (more bool) {
	warned := map[string]string{}
	warn := func(session, message string, err error) {
		if err == nil {
			return
		}
		why := inFull(err)
		warned[session+message] = why
		if d.warned[session+message] != why {
			d.logger.Warn(message, "session", session, "why", why)
		}
	}
	defer func() { d.warned = warned }()
	sessions, err := outbox.Sessions(ctx, d.home)
	if ctx.Err() == nil {
		warn("", "the outboxes of the home cannot all be read", err)
	}
	maps.DeleteFunc(d.rests, func(_ string, until time.Time) bool { return !time.Now().Before(until) })
	for _, session := range sessions {
		if ctx.Err() != nil {
			return more
		}
		if _, rests := d.rests[session]; rests {
			more = true
			continue
		}
		more = d.take(ctx, session, warn) || more
	}
	if d.rounds%removeEvery == 0 {
		_, err := outbox.RemoveEmpty(ctx, d.home)
		if ctx.Err() == nil {
			warn("", "empty outboxes could not be removed", err)
		}
	}
	d.rounds++
	err = d.lookAside(ctx)
	if ctx.Err() == nil {
		warn("", "entries that were set aside cannot all be counted", err)
	}
	return more
}

// inFull returns an error with all that its problem says.
func inFull(err error) string {
	var p *Problem
	if errors.As(err, &p) {
		return p.Message + ": " + p.Why + "; " + p.Next
	}
	return err.Error()
}

// take returns a session a turn: it delivers a part of what the session kept, and reports whether there is more.
func (d *Delivery) take(
	ctx context.Context, session string, warn func(session, message string, err error),
) (more bool) {
	t := &turn{service: d.service, logger: d.logger, session: session}
	box, err := outbox.Open(d.home, session, t.secretNow)
	if err != nil {
		warn(session, "an outbox cannot be opened", err)
		return false
	}
	within, cancel := context.WithTimeout(ctx, turnMost)
	defer cancel()
	delivered, err := box.Deliver(within, busyPatience, t.deliver, t.reject)
	if rest := max(t.rest, time.Duration(t.steps/turnSteps)*turnEvery); rest > 0 {
		d.rests[session] = time.Now().Add(rest)
	}
	if delivered.Delivered > 0 {
		d.logger.Info("delivered kept commands", "session", session, "count", delivered.Delivered-t.refused,
			"refused", t.refused)
	}
	for _, damaged := range delivered.Damaged {
		d.logger.Error(
			"a kept command is damaged and was set aside", "session", session, "file", damaged.File, "why", damaged.Why,
		)
	}
	switch {
	case errors.Is(err, errTurnOver):
		return true
	case errors.Is(err, context.DeadlineExceeded):
		return t.entries > 0
	case ctx.Err() == nil:
		warn(session, "kept commands could not be delivered; trying again", err)
	}
	return false
}

// lookAside logs entries that were set aside since the last look, also by a session's own command.
func (d *Delivery) lookAside(ctx context.Context) error {
	quarantined, err := outbox.SetAside(ctx, d.home)
	for session, n := range quarantined {
		if n > d.quarantined[session] {
			d.logger.Error(
				"kept commands were set aside and are not delivered", "session", session, "count", n, "directory",
				"outbox/"+session+"/damaged",
			)
		}
	}
	d.quarantined = quarantined
	return err
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
	"maestro/workers/outbox"
)

// deliverEvery is how often a server looks for commands that sessions kept in its own home.
const deliverEvery = 5 * time.Second

// longestLogged bounds what a session said and a line of the server's log holds, in bytes.
const longestLogged = 512

// delivery brings the commands that sessions on this machine kept while the server was away, for sessions that have no
// next command: it is what a session's own next command would do.
type delivery struct {
	home    *home.Home
	handler *engine.Handler
	denials *engine.Denials
	limits  service.Limits
	key     []byte // that the secrets of sessions are made from
	logger  *slog.Logger
	// charge gives what charges a session for the work of what is delivered; nil if nobody does.
	charge func(by commands.Actor) (worked func(steps int))
	// worked are the steps of what this session's turn delivered.
	worked atomic.Int64
	// rests says until when a session has no turn: its last one was more than its share of the writer.
	rests map[string]time.Time
	// quarantined is how many entries each session's outbox had set aside at the last look.
	quarantined map[string]int
	// refused counts the commands of this look that were delivered and refused.
	refused int
	// warned is why something could not be read at the last look, so that the log says it once.
	warned map[string]string
	rounds int
}

const (
	// removeEvery is how many looks there are between two removals of empty outboxes.
	removeEvery = 12
	// busyPatience is how long the server waits for an outbox that is locked: it may stay so, and the others must not
	// wait for it.
	busyPatience = 250 * time.Millisecond
	// turnEvery is how often a session whose outbox has more gets a turn, and turnEntries and turnSteps are what it may
	// bring in one: as much as its quota of commands, so what was kept comes as fast as what is said now.
	turnEvery   = 250 * time.Millisecond
	turnEntries = 50
	turnSteps   = turnEntries * service.StepsPerCommand
	// turnMost is how long one turn may take.
	turnMost = time.Second
)

// errTurnOver says that the others have their turn now.
var errTurnOver = errors.New("the session's turn is over")

// run delivers until ctx ends.
func (d *delivery) run(ctx context.Context) {
	for {
		next := deliverEvery
		if d.handler.Health() == nil && d.all(ctx) {
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
func (d *delivery) all(ctx context.Context) (more bool) {
	warned := map[string]string{}
	warn := func(session, message string, err error) {
		if err == nil {
			return
		}
		warned[session+message] = err.Error()
		if d.warned[session+message] != err.Error() {
			d.logger.Warn(message, "session", session, "why", err)
		}
	}
	defer func() { d.warned = warned }()
	sessions, err := outbox.Sessions(ctx, d.home.Root())
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
		more = d.turn(ctx, session, warn) || more
	}
	if d.rounds%removeEvery == 0 {
		_, err := outbox.RemoveEmpty(ctx, d.home.Root())
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

// turn delivers a part of what a session kept, and reports whether there is more.
func (d *delivery) turn(
	ctx context.Context, session string, warn func(session, message string, err error),
) (more bool) {
	var generation int // of the secret that proves the entries
	box, err := outbox.Open(d.home.Root(), session, func() (secret string) {
		secret, generation = d.secretOf(session)
		return secret
	})
	if err != nil {
		warn(session, "an outbox cannot be opened", err)
		return false
	}
	d.refused = 0
	d.worked.Store(0)
	entries := 0
	next := func() error {
		if entries == turnEntries || d.worked.Load() >= turnSteps {
			return errTurnOver
		}
		entries++
		return nil
	}
	within, cancel := context.WithTimeout(ctx, turnMost)
	defer cancel()
	delivered, err := box.Deliver(within, busyPatience,
		func(ctx context.Context, e outbox.Entry) error {
			if err := next(); err != nil {
				return err
			}
			return d.one(ctx, session, generation, e)
		},
		func(ctx context.Context, u outbox.Unproven) error {
			if err := next(); err != nil {
				return err
			}
			return d.reject(ctx, session, u)
		},
	)
	if turns := d.worked.Load() / turnSteps; turns > 0 {
		if d.rests == nil {
			d.rests = map[string]time.Time{}
		}
		d.rests[session] = time.Now().Add(time.Duration(turns) * turnEvery)
	}
	if delivered.Delivered > 0 {
		d.logger.Info("delivered kept commands", "session", session, "count", delivered.Delivered-d.refused,
			"refused", d.refused)
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
		return entries > 0
	case ctx.Err() == nil:
		warn(session, "kept commands could not be delivered; trying again", err)
	}
	return false
}

// lookAside logs entries that were set aside since the last look, also by a session's own command.
func (d *delivery) lookAside(ctx context.Context) error {
	quarantined, err := outbox.SetAside(ctx, d.home.Root())
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

// secretOf gives a session's secret as it is now, and which one that is; "" if there is no such session.
func (d *delivery) secretOf(session string) (secret string, generation int) {
	d.handler.View(func(s *projections.State) {
		if x := s.Session(session); x != nil {
			secret, generation = service.SessionToken(d.key, x.ID, x.Generation), x.Generation
		}
	})
	return secret, generation
}

func (d *delivery) actor(session, authn string) (by commands.Actor) {
	d.handler.View(func(s *projections.State) { by = commands.SessionActor(s.SessionProject(session), session, authn) })
	return by
}

// one brings a kept command through in its session's name. nil is an answer for good, also a refusal, which is
// recorded. Its work is charged to what the session does next. What there may be of anything bounds it, and the command
// waits until there is less.
func (d *delivery) one(ctx context.Context, session string, generation int, e outbox.Entry) error {
	command, err := commands.Parse(e.Command, e.Body)
	if err == nil {
		by := d.actor(session, commands.AuthnToken)
		by.Generation = generation
		request := engine.Request{
			By:         by,
			Command:    command,
			Key:        e.Key,
			OccurredAt: e.OccurredAt,
		}
		charge := func(int) {}
		if d.charge != nil {
			charge = d.charge(by)
		}
		request.Worked = func(steps int) {
			d.worked.Add(int64(steps))
			charge(steps)
		}
		d.handler.View(func(s *projections.State) { err = d.limits.CheckStock(s, request) })
		if err == nil {
			_, err = d.handler.Do(ctx, request)
		}
	}
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		d.refused++
		d.logger.Warn(
			"a kept command was refused", "session", session, "command", safetext.Shorten(e.Command, longestLogged),
			"key", safetext.Shorten(e.Key, longestLogged), "why",
			safetext.Shorten(refusal.Message, longestLogged),
		)
		return nil
	}
	return err
}

// reject records that an entry was not delivered, so that it appears in the inbox. One that is no command is only
// logged.
func (d *delivery) reject(ctx context.Context, session string, u outbox.Unproven) error {
	command, err := commands.Parse(u.Entry.Command, u.Entry.Body)
	var refusal *commands.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil
	case err != nil:
		return err
	}
	by := d.actor(session, commands.AuthnNone)
	var root string
	d.handler.View(func(s *projections.State) { root = s.Root(by.Project) })
	file := "outbox/" + session + "/damaged of the home"
	said := &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Message: "It has no proof that session '" + session + "' said it",
		Why:     u.Why,
		Next:    "ask the session whether it said this; the entry is in " + file,
	}
	if d.revoked(session, u.Entry) {
		said.Message = "It was signed with the session's old secret; the session must report it again"
		said.Why = "that secret was revoked"
		said.Next = "have the session report it again with its new secret; the entry is in " + file
	}
	request := engine.Request{
		By:         by,
		Command:    command,
		Key:        u.Entry.Key,
		OccurredAt: u.Entry.OccurredAt,
	}
	return d.denials.RecordKept(ctx, request, root, said)
}

// oldSecrets bounds how many revoked secrets of a session are tried on an entry, the newest first.
const oldSecrets = 20

// revoked reports whether an entry was kept with an earlier secret of its session.
func (d *delivery) revoked(session string, e outbox.Entry) bool {
	_, now := d.secretOf(session)
	for generation := now - 1; generation >= max(service.FirstGeneration, now-oldSecrets); generation-- {
		if e.ProvenBy(service.SessionToken(d.key, session, generation)) {
			return true
		}
	}
	return false
}

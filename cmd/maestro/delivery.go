package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"maestro/api"
	"maestro/commands"
	"maestro/internal/home"
	"maestro/projections"
	"maestro/workers/outbox"
)

// deliverEvery is how often a server looks for commands that sessions kept in its own home.
const deliverEvery = 5 * time.Second

// delivery brings the commands that sessions on this machine kept while the server was away, for sessions that have no next
// command: it is what a session's own next command would do.
type delivery struct {
	home    *home.Home
	handler *commands.Handler
	denials *commands.Denials
	key     []byte // that the secrets of sessions are made from
	logger  *slog.Logger
}

// run delivers until ctx ends.
func (d *delivery) run(ctx context.Context) {
	for {
		if d.handler.Health() == nil {
			d.all(ctx)
		}
		select {
		case <-time.After(deliverEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (d *delivery) all(ctx context.Context) {
	sessions, err := outbox.Sessions(d.home.Root())
	if err != nil {
		d.logger.Warn("the outboxes of the home cannot be read", "why", err)
		return
	}
	for _, session := range sessions {
		box, err := outbox.Open(d.home.Root(), session)
		if err != nil {
			d.logger.Warn("an outbox cannot be opened", "session", session, "why", err)
			continue
		}
		within, cancel := context.WithTimeout(ctx, deliverEvery)
		delivered, err := box.Deliver(within, func(ctx context.Context, e outbox.Entry) error { return d.one(ctx, session, e) })
		cancel()
		if delivered.Delivered > 0 {
			d.logger.Info("delivered kept commands", "session", session, "count", delivered.Delivered)
		}
		for _, damaged := range delivered.Damaged {
			d.logger.Error("a kept command is damaged and was set aside", "session", session, "file", damaged.File, "why", damaged.Why)
		}
		var busy *outbox.BusyError
		if err != nil && !errors.As(err, &busy) && ctx.Err() == nil {
			d.logger.Warn("kept commands could not be delivered; trying again", "session", session, "why", err)
		}
	}
}

// one brings a kept command through in its session's name. nil is an answer for good, also a refusal, which is recorded.
func (d *delivery) one(ctx context.Context, session string, e outbox.Entry) error {
	var by commands.Actor
	var proven bool
	d.handler.View(func(s *projections.State) {
		by = commands.SessionActor(s.SessionProject(session), session, commands.AuthnToken)
		x := s.Session(session)
		proven = x != nil && e.Proven(api.SessionToken(d.key, x.ID, x.Generation))
	})
	var refusal *commands.Refusal
	command, err := commands.Parse(e.Command, e.Body)
	switch {
	case err == nil && proven:
		_, err = d.handler.Do(ctx, commands.Request{By: by, Command: command, Key: e.Key, OccurredAt: e.OccurredAt})
	case err == nil:
		by.Authn = commands.AuthnNone
		refusal = &commands.Refusal{
			Code: commands.CodeNotAllowed, Message: "A kept command has no proof that session '" + session + "' said it",
			Why: "the session is not known here, or its secret was revoked",
		}
		return d.denials.RecordKept(ctx, commands.Request{By: by, Command: command, Key: e.Key, OccurredAt: e.OccurredAt}, refusal)
	}
	if errors.As(err, &refusal) {
		d.logger.Warn("a kept command was refused", "session", session, "command", e.Command, "key", e.Key, "why", refusal.Message)
		return nil
	}
	return err
}

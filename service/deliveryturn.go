package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/workers/outbox"
)

// errTurnOver ends a turn so that the other sessions get theirs.
var errTurnOver = errors.New("the session's turn is over")

// turn is one session's turn.
type turn struct {
	service *Service
	logger  *slog.Logger
	session string
	box     *outbox.Outbox
	// secret verifies the entries. It is the session's secret as of the last entry.
	secret string
	// entries and refused count the delivered entries and those that were refused. steps counts the steps of work.
	entries, refused int
	// noted are the keys of the refusals that were stored for the session.
	noted []string
	steps int64
	// rest is how long the session's quotas require it to wait.
	rest time.Duration
}

// longestLogged bounds a session's text in a line of the server's log, in bytes.
const longestLogged = 512

// next begins another entry, unless the turn is over.
func (t *turn) next() error {
	if t.entries == turnEntries || t.steps >= turnSteps {
		return errTurnOver
	}
	t.entries++
	return nil
}

// secretNow returns the session's present secret; "" if there is no such session.
func (t *turn) secretNow() string {
	t.secret = ""
	if generation, ok := t.generation(); ok {
		t.secret = SessionToken(t.service.Keys.ServerKey, t.session, generation)
	}
	return t.secret
}

func (t *turn) generation() (generation int, ok bool) {
	t.service.Handler.View(func(s *projections.State) {
		if x := s.Session(t.session); x != nil {
			generation, ok = x.Generation, true
		}
	})
	return generation, ok
}

// deliver executes a kept command on behalf of its session, as if the session had sent it. It returns nil for a final
// answer, including a refusal, which is recorded. An entry that exceeds a quota waits until it does not.
func (t *turn) deliver(ctx context.Context, e outbox.Entry) error {
	if err := t.next(); err != nil {
		return err
	}
	return t.answered(ctx, e, t.execute(ctx, e))
}

// execute passes an entry to the service like a call of the session.
func (t *turn) execute(ctx context.Context, e outbox.Entry) error {
	c, err := t.service.Authenticate(t.secret)
	if err != nil {
		return err
	}
	c.delivered = true
	c.Meta = Meta{
		Key:        e.Key,
		Named:      true,
		OccurredAt: e.OccurredAt,
		Kept:       true,
		// Another process may have written it.
		TraceParent: events.TraceParent(e.TraceParent),
	}
	length := int64(len(e.Body))
	admission, err := t.service.Admit(ctx, c, Demand{Writes: true, Bytes: length})
	if err != nil {
		return err
	}
	defer admission.Leave()
	_, err = t.service.Do(ctx, c, Call{
		ID:     e.Command,
		Length: length,
		Body:   func() ([]byte, error) { return e.Body, nil },
		Drop:   func() {},
	})
	t.steps += admission.steps.Load()
	return err
}

// answered returns nil for a final answer. A refusal is stored for the session, whose next command shows it.
func (t *turn) answered(ctx context.Context, e outbox.Entry, err error) error {
	var refusal *commands.Refusal
	var p *Problem
	refused := outbox.Refused{
		Command:    e.Command,
		Said:       e.Said(),
		Key:        e.Key,
		OccurredAt: e.OccurredAt,
	}
	switch {
	case errors.As(err, &refusal):
		refused.Denied = refusal.Code == commands.CodeNotAllowed
		refused.Message, refused.Why, refused.Next = refusal.Message, refusal.Why, refusal.Next
	case !errors.As(err, &p):
		return err
	case p.Kind == KindBusy && p.Code == codeLimited:
		t.rest = p.RetryAfter
		return errTurnOver
	case p.forGood():
		refused.Denied = p.Kind == KindNotAllowed
		refused.Message, refused.Why, refused.Next = p.Message, p.Why, p.Next
	default:
		return err
	}
	t.refused++
	refused.Next = t.advised(refused.Next)
	if err := t.box.NoteRefused(ctx, refused); err != nil {
		t.logger.Warn("a session cannot be told of a refusal", "session", t.session, "why", err)
	} else {
		t.noted = append(t.noted, e.Key)
	}
	t.logger.Warn(
		"a kept command was refused", "session", t.session, "command", safetext.Shorten(e.Command, longestLogged),
		"key", safetext.Shorten(e.Key, longestLogged), "why", safetext.Shorten(refused.Message, longestLogged),
	)
	return nil
}

// advised returns the next step of a refusal, as the session would have got it.
func (t *turn) advised(next string) string {
	c, err := t.service.Authenticate(t.secret)
	if err != nil {
		return ""
	}
	p := &Problem{Next: next}
	t.service.advise(c, p)
	return p.Next
}

// reject records that an entry was not delivered, so that it appears in the inbox. An entry that is not a command is
// only logged. It returns whether the entry has the proof of a former secret of the session.
func (t *turn) reject(ctx context.Context, u outbox.Unproven) (former bool, err error) {
	if err := t.next(); err != nil {
		return false, err
	}
	former = commands.MayWait(u.Entry.Command) && t.revoked(u.Entry)
	command, err := commands.Parse(u.Entry.Command, u.Entry.Body)
	var refusal *commands.Refusal
	switch {
	case errors.As(err, &refusal):
		return former, nil
	case err != nil:
		return false, err
	case t.service.Denials == nil:
		return former, nil
	}
	var by commands.Actor
	var root string
	t.service.Handler.View(func(s *projections.State) {
		by = commands.SessionActor(s.SessionProject(t.session), t.session, commands.AuthnNone)
		root = s.Root(by.Project)
	})
	damaged, replaced := outbox.AsideDirs(t.session)
	said := &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Message: "It has no proof that session '" + t.session + "' said it",
		Why:     u.Why,
		Next:    "ask the session whether it sent this; the entry is in " + damaged + " of the home",
	}
	if former {
		said.Message = "It was signed with the session's old secret; the session must report it again"
		said.Why = "that secret was revoked, or replaced by a resume"
		said.Next = "have the session report it again with its new secret; the entry is in " + replaced + " of the home"
	}
	request := engine.Request{
		By:         by,
		Command:    command,
		Key:        u.Entry.Key,
		OccurredAt: u.Entry.OccurredAt,
	}
	return former, t.service.Denials.RecordKept(ctx, request, root, said)
}

// oldSecrets bounds how many revoked secrets of a session are tried on an entry that does not say its own, newest
// first.
const oldSecrets = 20

// revoked reports whether an entry was kept with an earlier secret of its session.
func (t *turn) revoked(e outbox.Entry) bool {
	now, _ := t.generation()
	if said := e.Generation; said >= FirstGeneration && said < now {
		return e.ProvenBy(SessionToken(t.service.Keys.ServerKey, t.session, said))
	}
	for generation := now - 1; generation >= max(FirstGeneration, now-oldSecrets); generation-- {
		if e.ProvenBy(SessionToken(t.service.Keys.ServerKey, t.session, generation)) {
			return true
		}
	}
	return false
}

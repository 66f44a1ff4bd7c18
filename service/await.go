package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// An open call ends when its caller's credential is revoked or expires.
var (
	ErrRevoked = errors.New("the credential was revoked")
	ErrExpired = errors.New("the credential has expired")
)

// EndReason returns the answer to a call that ended because its credential or the server did; nil if it did not.
func (c *Caller) EndReason(good context.Context) error { return c.explain(context.Cause(good)) }

// explain returns the answer to a call that ended for a cause; nil if the cause does not end calls.
func (c *Caller) explain(cause error) error {
	switch {
	case errors.Is(cause, ErrRevoked):
		return NotAuthenticated("The token was revoked", "it was revoked while this call was open", true)
	case errors.Is(cause, ErrExpired):
		if c.LoginID != "" {
			return noLogin("it expired")
		}
		return expired(c.By.Name, c.Expires)
	case errors.Is(cause, ErrLoggedOut):
		return noLogin("somebody ended it while this call was open")
	case errors.Is(cause, ErrStopping):
		return askAgain()
	}
	return nil
}

// over returns why a caller's credential is no longer valid: ErrRevoked or ErrExpired; nil if it is valid. No other
// code decides this after the authentication.
func (c *Caller) over(state *projections.State, now time.Time) error {
	switch {
	case c.Anonymous:
		return nil
	case c.By.Kind == commands.ActorSession:
		if x := state.Session(c.By.Name); x != nil && x.Generation != c.By.Generation {
			return ErrRevoked
		}
		return nil
	case c.By.Kind == commands.ActorRunner:
		if x := state.Session(c.By.Speaks); x != nil && x.Generation != c.By.Generation {
			return ErrRevoked
		}
		return nil
	case c.LoginID != "" && now.UnixMilli() >= c.Expires:
		return ErrExpired
	case c.By.Name == commands.AdminName:
		return nil
	}
	token := state.Token(c.By.Name)
	switch {
	case token == nil || !token.Live() || token.Generation != c.By.Generation:
		return ErrRevoked
	case token.Expired(now.UnixMilli()):
		return ErrExpired
	}
	return nil
}

// StillGood returns the answer to a caller whose credential was revoked or has expired since its authentication; nil if
// it is valid. An interface asks once the body has arrived, and while it sends a long answer.
func (s *Service) StillGood(c *Caller) (err error) {
	s.Handler.View(func(state *projections.State) { err = c.explain(c.over(state, s.Now())) })
	return err
}

// MayGoOn is StillGood for the rest of a long answer: it also refuses a session that has ended since, if the query is
// not about itself.
func (s *Service) MayGoOn(c *Caller) (err error) {
	s.Handler.View(func(state *projections.State) {
		if err = c.explain(c.over(state, s.Now())); err == nil && !c.Ended && s.At(state, c).callerEnded() {
			err = s.At(state, c).mayLookAfterEnd()
		}
	})
	return err
}

// WhileGood returns a context that ends when the caller's credential is revoked or expires, or the server stops. The
// caller must call done, which waits for the context's goroutines.
func (s *Service) WhileGood(ctx context.Context, c *Caller) (good context.Context, done func()) {
	key := engine.Key{Kind: projections.KindToken, ID: c.By.Name}
	switch c.By.Kind {
	case commands.ActorSession:
		key.Kind = projections.KindSession
	case commands.ActorRunner:
		key = engine.Key{Kind: projections.KindSession, ID: c.By.Speaks}
	case commands.ActorUser, commands.ActorSystem:
	}
	ctx, forget := s.UntilStop(ctx)
	good, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	expiry := func() bool { return true }
	if c.Expires != 0 {
		expiry = time.AfterFunc(time.UnixMilli(c.Expires).Sub(s.Now()), func() { cancel(ErrExpired) }).Stop
	}
	go func() {
		defer close(ended)
		var over error
		if s.Handler.Await(good, func(state *projections.State) bool {
			over = c.over(state, s.Now())
			return over != nil
		}, key) == nil {
			cancel(over)
		}
	}()
	return good, func() {
		expiry()
		cancel(nil)
		<-ended
		forget()
	}
}

// Await waits until a condition holds, the time is over, or the credential ends; only the last is an error. The caller
// counts as heard while it waits.
func (s *Service) Await(
	ctx context.Context, c *Caller, wait time.Duration, holds func(*projections.State) bool, keys ...engine.Key,
) error {
	return s.await(ctx, c, wait, func(ctx context.Context) error { return s.Handler.Await(ctx, holds, keys...) })
}

// awaitItem is Await for the caller's turn to ask for an item of a queue. It returns nil once the wait or the time is
// over. The caller must end the turn.
func (s *Service) awaitItem(
	ctx context.Context, c *Caller, wait time.Duration, project, queue string,
	over func(*projections.State) bool, keys ...engine.Key,
) (turn *engine.Turn, err error) {
	err = s.await(ctx, c, wait, func(ctx context.Context) (err error) {
		turn, err = s.Handler.AwaitItem(ctx, project, queue, over, keys...)
		return err
	})
	return turn, err
}

// await waits while the credential is valid, and keeps noting the caller as heard. It may call waits several times.
func (s *Service) await(
	ctx context.Context, c *Caller, wait time.Duration, waits func(ctx context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	good, done := s.WhileGood(ctx, c)
	defer done()
	for {
		slice, end := context.WithTimeout(good, s.hearEvery())
		err := waits(slice)
		end()
		switch {
		case err == nil:
			return nil
		case c.EndReason(good) != nil:
			return c.EndReason(good)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if s.Leases != nil && c.By.Kind == commands.ActorSession {
			if err := s.Leases.Heard(ctx, c.By.Name); err != nil {
				return err
			}
		}
	}
}

// hearEvery is how often a waiting session is noted as heard.
func (s *Service) hearEvery() time.Duration {
	if s.Leases == nil {
		return waitLongest
	}
	return s.Leases.Lease() / 3
}

// CodeStopping is the code of the answer to a call that was waiting when the server began to stop: ask again.
const CodeStopping = wire.CodeStopping

// ErrStopping ends open calls when the server stops.
var ErrStopping = errors.New("the server is stopping")

func askAgain() *Problem {
	return &Problem{
		Kind:       KindUnavailable,
		Code:       CodeStopping,
		Message:    "The server is stopping: try again",
		Why:        "a server that stops answers waiting calls first",
		Next:       "try again with the same key until the server is back",
		RetryAfter: time.Second,
	}
}

// UntilStop returns a context that also ends when the server stops. The caller must call done.
func (s *Service) UntilStop(ctx context.Context) (until context.Context, done func()) {
	until, cancel := context.WithCancelCause(ctx)
	if s.Stopping.Err() != nil {
		cancel(ErrStopping) // at once: AfterFunc runs in a goroutine of its own
	}
	forget := context.AfterFunc(s.Stopping, func() { cancel(ErrStopping) })
	return until, func() {
		forget()
		cancel(nil)
	}
}

const (
	// waitLongest bounds one call's wait. To wait longer, a caller calls again. It is less than the deadline for a body
	// to arrive: at that deadline net/http treats the caller as gone.
	waitLongest = 25 * time.Second
)

// Head returns the committed sequence.
func (s *Service) Head() (sequence uint64) {
	s.Handler.View(func(state *projections.State) { sequence = state.Head().Sequence })
	return sequence
}

// waitAtMost bounds how long a read waits for the sequence that it requires.
const waitAtMost = 5 * time.Second

// AwaitSequence waits until the views have reached a sequence, or until the caller's credential ends. It fails with a
// Problem of KindTimeout after 5 s.
func (s *Service) AwaitSequence(ctx context.Context, c *Caller, sequence uint64) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	if s.Head() >= sequence {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitAtMost)
	defer cancel()
	good, done := s.WhileGood(ctx, c)
	defer done()
	err = s.Handler.WaitFor(good, sequence)
	switch over := c.EndReason(good); {
	case over != nil:
		return over
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	head := s.Head()
	return &Problem{
		Kind: KindTimeout,
		Code: wire.CodeTimeout,
		Message: "Sequence " + strconv.FormatUint(sequence, 10) + " was not reached in 5 s; the head is " +
			strconv.FormatUint(head, 10),
		Why:     "the views have not reached it yet",
		Next:    "try again, or ask for a lower sequence",
		Details: wire.NotReached{Head: head},
	}
}

// Heard notes that a session calls, whatever it asks for. It ignores a read without a credential: any page could make a
// browser send one.
func (s *Service) Heard(ctx context.Context, c *Caller) error {
	if c.By.Kind != commands.ActorSession || s.Leases == nil || c.Anonymous && c.Reads {
		return nil
	}
	return s.Leases.Heard(ctx, c.By.Name)
}

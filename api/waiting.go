package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

const (
	// waitLongest is how long one call may wait for something; who wants to wait longer asks again. It is less than a
	// body may take to arrive: at that deadline net/http takes the caller for gone.
	waitLongest = 25 * time.Second
	// headerAnswers names, to a session, its questions whose answers it was not yet shown.
	headerAnswers = "Maestro-Answers"
)

// heard notes that a session calls, whatever it asks for, and tells it of answers that wait for it.
func (s *server) heard(ctx context.Context, header http.Header, c *call) error {
	if c.by.Kind != commands.ActorSession {
		return nil
	}
	if len(c.answers) > 0 {
		header.Set(headerAnswers, strings.Join(c.answers, ","))
	}
	if s.Leases == nil || c.anonymous && c.reads() {
		return nil
	}
	return s.Leases.Heard(ctx, c.by.Name)
}

// lastWords is how long a client may take, once the server stops, to read what a stream sent it.
const lastWords = 500 * time.Millisecond

// What a caller has open ends when its credential is revoked or expires.
var (
	errRevoked = errors.New("the credential was revoked")
	errExpired = errors.New("the credential has expired")
)

// over gives the answer to a call that ended while it was open, with its credential or with the server; nil if it did
// not.
func (c *call) over(good context.Context) error {
	switch cause := context.Cause(good); {
	case errors.Is(cause, errRevoked):
		return unauthenticated("The token was revoked", "it was revoked while this call was open", true)
	case errors.Is(cause, errExpired):
		return expired(c.by.Name, c.expires)
	case errors.Is(cause, errStopping):
		return errAskAgain()
	}
	return nil
}

// good reports whether a caller's credential still is.
func (c *call) good(state *projections.State) bool {
	switch {
	case c.anonymous:
		return true
	case c.by.Kind == commands.ActorSession:
		x := state.Session(c.by.Name)
		return x == nil || x.Generation == c.by.Generation
	case c.by.Name == commands.AdminName:
		return true
	}
	token := state.Token(c.by.Name)
	return token != nil && token.Live() && token.Generation == c.by.Generation
}

// whileGood gives a context that ends when the caller's credential is revoked or expires, or the server stops. done
// must be called, and waits for its end.
func (s *server) whileGood(ctx context.Context, c *call) (good context.Context, done func()) {
	key := engine.Key{Kind: projections.KindToken, ID: c.by.Name}
	if c.by.Kind == commands.ActorSession {
		key.Kind = projections.KindSession
	}
	ctx, forget := s.untilStop(ctx)
	good, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	expiry := func() bool { return true }
	if c.expires != 0 {
		expiry = time.AfterFunc(time.UnixMilli(c.expires).Sub(s.Now()), func() { cancel(errExpired) }).Stop
	}
	go func() {
		defer close(ended)
		if s.Handler.Await(good, func(state *projections.State) bool { return !c.good(state) }, key) == nil {
			cancel(errRevoked)
		}
	}()
	return good, func() {
		expiry()
		cancel(nil)
		<-ended
		forget()
	}
}

// open serves what may stay open for long: it ends when the caller's credential is revoked or expires, or the server
// stops.
func (s *server) open(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		good, done := s.whileGood(r.Context(), callOf(r.Context()))
		defer done()
		defer context.AfterFunc(s.Stopping, func() {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastWords))
		})()
		serve(w, r.WithContext(good))
	}
}

// await waits until a condition holds, the time is over, or the credential ends; only the last is an error. The caller
// counts as heard all the while.
func (s *server) await(
	ctx context.Context, c *call, wait time.Duration, holds func(*projections.State) bool, keys ...engine.Key,
) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	good, done := s.whileGood(ctx, c)
	defer done()
	for {
		slice, end := context.WithTimeout(good, s.hearEvery())
		err := s.Handler.Await(slice, holds, keys...)
		end()
		switch {
		case err == nil:
			return nil
		case c.over(good) != nil:
			return c.over(good)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if s.Leases != nil && c.by.Kind == commands.ActorSession {
			if err := s.Leases.Heard(ctx, c.by.Name); err != nil {
				return err
			}
		}
	}
}

// hearEvery is how often a session that waits is noted as heard.
func (s *server) hearEvery() time.Duration {
	if s.Leases == nil {
		return waitLongest
	}
	return s.Leases.Lease() / 3
}

// readAfter is read for a view that may be waited for.
func readAfter[I, T any](
	s *server, o op, before func(ctx context.Context, c *call, in *I) error, see func(v view, in *I) (T, error),
) {
	o.method = http.MethodGet
	huma.Register(s.huma, s.operation(o), func(ctx context.Context, in *I) (*answer[T], error) {
		c := callOf(ctx)
		if err := before(ctx, c, in); err != nil {
			return nil, s.problemAt(c, err)
		}
		out := &answer[T]{ContentType: s.jsonType[0]}
		var err error
		s.Handler.View(func(state *projections.State) {
			out.Sequence = state.Head().Sequence
			out.Body, err = see(view{state, s, c}, in)
		})
		if err != nil {
			return nil, s.problemAt(c, err)
		}
		return out, nil
	})
}

// sortedInbox gives the items of a kind, longest wait first.
func sortedInbox(items []projections.InboxItem, kind string, now int64) []projections.InboxItem {
	kept := []projections.InboxItem{}
	for _, item := range items {
		if kind == "" || kind == string(item.Kind) {
			item.Waited = max(0, now-item.Since)
			kept = append(kept, item)
		}
	}
	slices.SortStableFunc(kept, func(a, b projections.InboxItem) int { return int(a.Since - b.Since) })
	return kept
}

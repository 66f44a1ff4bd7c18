package service

import (
	"context"
	"slices"
	"sync"
)

// places limits expensive work, of which little runs concurrently. A credential has at most one place. A free place
// goes to the project that has the fewest, then to the one that had one least recently, and within it to the credential
// that had one least recently. So however many calls a credential makes, and however many credentials a project has,
// another project waits only until one of their places is free.
type places struct {
	mu   sync.Mutex
	free int
	// served counts the places that were given.
	served uint64
	// waiting are the calls that wait for a place, oldest first.
	waiting []*waiting
	// shares holds the accounts with calls that have a place or wait for one.
	shares map[*account]*share
}

// share is an account's share of the places.
type share struct {
	has, waits int
	// last is the count of places when the account last got one, 0 for never.
	last uint64
}

// waiting is a call that waits until its turn is closed.
type waiting struct {
	of   holders
	turn chan struct{}
}

// holders are the accounts of a call: its credential, and the root of its project, or the credential again if there is
// none. A call that was not admitted has none.
type holders struct{ credential, root *account }

func holdersOf(c *Caller) (of holders) {
	if a := c.admission; a != nil {
		of = holders{a.credential, a.credential}
		if a.project != nil {
			of.root = a.project
		}
	}
	return of
}

// placeTaken is a call's place. The zero value is no place.
type placeTaken struct {
	places *places
	of     holders
}

func newPlaces(n int) *places { return &places{free: n, shares: map[*account]*share{}} }

// take waits for a place, which the caller must leave. It fails with the cause of the context's end.
func (p *places) take(ctx context.Context, c *Caller) (placeTaken, error) {
	taken := placeTaken{p, holdersOf(c)}
	p.mu.Lock()
	if p.free > 0 && p.may(taken.of) {
		p.give(taken.of)
		p.mu.Unlock()
		return taken, nil
	}
	w := &waiting{taken.of, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.count(w.of, func(s *share) { s.waits++ })
	p.mu.Unlock()
	select {
	case <-w.turn:
		return taken, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.stopWaiting(i)
	} else { // it got its place meanwhile
		p.giveBack(w.of)
	}
	return placeTaken{}, context.Cause(ctx)
}

// leave gives the place to the next call.
func (t placeTaken) leave() {
	if t.places == nil {
		return
	}
	t.places.mu.Lock()
	defer t.places.mu.Unlock()
	t.places.giveBack(t.of)
}

// may reports whether a call may get a place: its credential has none.
func (p *places) may(of holders) bool {
	s := p.shares[of.credential]
	return of.credential == nil || s == nil || s.has == 0
}

func (p *places) give(of holders) {
	p.free--
	p.served++
	p.count(of, func(s *share) { s.has, s.last = s.has+1, p.served })
}

// giveBack frees a place, and gives it to the next call.
func (p *places) giveBack(of holders) {
	p.free++
	p.count(of, func(s *share) { s.has-- })
	next := -1
	for i, w := range p.waiting {
		if p.may(w.of) && (next < 0 || p.isBefore(w.of, p.waiting[next].of)) {
			next = i
		}
	}
	if next < 0 || p.free == 0 {
		return
	}
	w := p.waiting[next]
	p.give(w.of)
	p.stopWaiting(next)
	close(w.turn)
}

// isBefore reports whether the call of a gets a place before that of b.
func (p *places) isBefore(a, b holders) bool {
	of, than := p.shareOf(a.root), p.shareOf(b.root)
	switch {
	case of.has != than.has:
		return of.has < than.has
	case of.last != than.last:
		return of.last < than.last
	}
	return p.shareOf(a.credential).last < p.shareOf(b.credential).last
}

func (p *places) shareOf(a *account) share {
	if s := p.shares[a]; s != nil {
		return *s
	}
	return share{}
}

func (p *places) stopWaiting(i int) {
	of := p.waiting[i].of
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.count(of, func(s *share) { s.waits-- })
}

// count changes the shares of a call's accounts, and drops empty ones.
func (p *places) count(of holders, change func(*share)) {
	for i, a := range [...]*account{of.credential, of.root} {
		if a == nil || i == 1 && a == of.credential {
			continue
		}
		s := p.shares[a]
		if s == nil {
			s = &share{}
			p.shares[a] = s
		}
		if change(s); s.has == 0 && s.waits == 0 {
			delete(p.shares, a)
		}
	}
}

package service

import (
	"context"
	"sync"
)

// places are for dear work, of which little is done at once. An account has one place at most, and its next call waits
// behind those of the others: however many calls it makes, each other account waits for one of them.
type places struct {
	all chan struct{}

	mu sync.Mutex
	// own are the accounts with calls that have a place or wait for one.
	own map[*account]*ownPlace
}

// ownPlace is the one place that an account may have.
type ownPlace struct {
	taken chan struct{}
	// calls counts those that have it or wait for it.
	calls int
}

func newPlaces(n int) *places {
	return &places{all: make(chan struct{}, n), own: map[*account]*ownPlace{}}
}

// take waits for a place, and gives the function that leaves it. It fails with the cause of the context if that ends
// before.
func (p *places) take(ctx context.Context, c *Caller) (leave func(), err error) {
	if c.admission == nil {
		return enter(ctx, p.all)
	}
	a := c.admission.credential
	own := p.ownOf(a)
	leaveOwn, err := enter(ctx, own.taken)
	if err != nil {
		p.drop(a)
		return nil, err
	}
	leaveAll, err := enter(ctx, p.all)
	if err != nil {
		leaveOwn()
		p.drop(a)
		return nil, err
	}
	return func() {
		leaveAll()
		leaveOwn()
		p.drop(a)
	}, nil
}

// enter waits for room in a channel. The longest-waiting caller comes first.
func enter(ctx context.Context, room chan struct{}) (leave func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *places) ownOf(a *account) *ownPlace {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.own[a]
	if own == nil {
		own = &ownPlace{taken: make(chan struct{}, 1)}
		p.own[a] = own
	}
	own.calls++
	return own
}

func (p *places) drop(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.own[a]; own.calls > 1 {
		own.calls--
	} else {
		delete(p.own, a)
	}
}

package service

import (
	"context"
	"sync"
	"time"
)

// rejectionDelay is how long the answer to a call over a limit is delayed. Otherwise, a caller that retries at once
// would cost as much as an admitted call; with the delay, a connection makes one such call a second. The delay ends
// with its context, so when the caller leaves. The listener may close a delayed connection to make room.
const rejectionDelay = time.Second

// A delayed call holds a connection, so their number is bounded. A call for which there is no room is answered at once,
// and its connection has to be closed: then a caller with many connections pays for a new one with each refusal.
const (
	// delayedEach bounds the delayed calls of one credential, or of one address.
	delayedEach = 256
	// delayedTogether bounds those of all sessions of one root, and those of all callers without a valid credential.
	delayedTogether = 512
	// delayedAll bounds them all.
	delayedAll = 1024
)

// delays counts the delayed calls by whose they are. The zero value counts none.
type delays struct {
	mu   sync.Mutex
	all  int
	held map[string]int
}

// wait delays a call, which counts for one caller and for a group. It returns false at once if there is no room.
func (d *delays) wait(ctx context.Context, one, group string) (waited bool) {
	if !d.begin(one, group) {
		return false
	}
	defer d.end(one, group)
	waitOut(ctx)
	return true
}

// waitOut waits until a delay is over, or its context ends.
func waitOut(ctx context.Context) {
	timer := time.NewTimer(rejectionDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (d *delays) begin(one, group string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= delayedAll || d.held[one] >= delayedEach || d.held[group] >= delayedTogether {
		return false
	}
	if d.held == nil {
		d.held = map[string]int{}
	}
	d.all++
	d.held[one]++
	d.held[group]++
	return true
}

func (d *delays) end(one, group string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	for _, name := range []string{one, group} {
		if d.held[name]--; d.held[name] <= 0 {
			delete(d.held, name)
		}
	}
}

// DelayRejection waits before a call over a limit is answered. It returns false at once if too many such calls wait:
// the caller's connection has to be closed after the answer.
func (s *Service) DelayRejection(ctx context.Context, c *Caller) (waited bool) {
	return s.delays.wait(ctx, AccountName(c.By), "all of "+c.share())
}

// delayNobody is DelayRejection for a caller without a valid credential.
func (s *Service) delayNobody(ctx context.Context, address string) (waited bool) {
	return s.delays.wait(ctx, "address "+address, "nobody")
}

// heldBack returns a problem after a delay, if its caller waits for the answer.
func (s *Service) heldBack(ctx context.Context, c *Caller, p *Problem) *Problem {
	p.HangUp = !c.delivered && !s.DelayRejection(ctx, c)
	return p
}

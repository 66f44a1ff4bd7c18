package engine

import (
	"context"
	"sync"
	"time"
)

// pulse distinguishes a busy server from a process that was stopped. It beats in a goroutine of its own and needs no
// lock that a command or a read may hold. Only a stopped process misses beats.
type pulse struct {
	elapsed func() time.Duration

	mu sync.Mutex
	// last is the last beat, gap the longest time without one since missed was called.
	last, gap time.Duration
	beating   bool
}

// run beats until ctx ends.
func (p *pulse) run(ctx context.Context, every time.Duration, after func(time.Duration) <-chan time.Time) {
	for ctx.Err() == nil {
		p.beat()
		select {
		case <-after(every):
		case <-ctx.Done():
		}
	}
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.elapsed()
	if p.beating {
		p.gap = max(p.gap, now-p.last)
	}
	p.last, p.beating = now, true
}

// missed returns the longest time without a beat since its last call; false if nothing beats.
func (p *pulse) missed() (gap time.Duration, beating bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gap, beating = max(p.gap, p.elapsed()-p.last), p.beating
	p.gap = 0
	return gap, beating
}

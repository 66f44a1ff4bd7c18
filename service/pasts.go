package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
)

// A past state takes as much memory as the state took at that moment, without what it shares with the present one. So
// there is a bound on how many there are, however slowly their answers are read.
const (
	// pastsKept is how many past states that nobody reads are kept: who looks at a moment reads much of it.
	pastsKept = 2
	// pastIdle is how long one is kept.
	pastIdle = time.Minute
	// pastsMost is how many past states are read at once, pastsOthers how many of them by others than admins.
	pastsMost, pastsOthers = 12, 8
	// pastWait is how long a read waits for a place.
	pastWait = 10 * time.Second
)

// pastReader is who reads past states, and how many at once.
type pastReader struct {
	name string
	most int
	// all is how many all may read at once for it to begin another.
	all int
}

func readerOf(by commands.Actor) pastReader {
	r := pastReader{AccountName(by), 2, pastsOthers}
	if ClassOf(by) == ClassAdmin {
		r.most, r.all = 6, pastsMost
	}
	return r
}

// errPastsTaken means that a read did not get a place in time.
var errPastsTaken = errors.New("too many moments are read at once")

// pasts has the past states that are read, and those that were read last.
type pasts struct {
	// folding has room for one state: a fold takes a processor, and memory.
	folding chan struct{}

	mu sync.Mutex
	// states has the least recently read one first.
	states []*keptPast
	// used is how many states each reader reads or has made, total how many all do; making has the readers for whom one
	// is being made.
	used   map[string]int
	total  int
	making map[string]bool
	// changed is closed when a place may have become free.
	changed chan struct{}
}

// keptPast is a past state with those who read it, and the timer that drops it.
type keptPast struct {
	*engine.Past

	readers map[string]int
	idle    *time.Timer
}

func newPasts() *pasts {
	return &pasts{
		folding: make(chan struct{}, 1),
		used:    map[string]int{},
		making:  map[string]bool{},
		changed: make(chan struct{}),
	}
}

// take returns the state after an event, which fold makes unless it is there, once its reader has a place. Each reader
// waits for its own states first, so that one that reads many delays the others by one at most. The reader must call
// release when it has read. take fails with the cause of ctx's end, or with fold's error.
func (p *pasts) take(
	ctx context.Context, by pastReader, sequence uint64, fold func() (*engine.Past, error),
) (past *engine.Past, release func(), err error) {
	for {
		p.mu.Lock()
		x := p.find(sequence)
		if x != nil && (x.readers[by.name] > 0 || p.room(by, x)) {
			p.reads(by, x)
			p.mu.Unlock()
			return x.Past, p.releasing(by, x), nil
		}
		changed, mine := p.changed, x == nil && !p.making[by.name] && p.room(by, nil)
		if mine {
			p.making[by.name] = true
			p.used[by.name]++
			p.total++
		}
		p.mu.Unlock()
		if mine {
			if x, err = p.make(ctx, by, sequence, fold); err != nil {
				return nil, nil, err
			}
			return x.Past, p.releasing(by, x), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// make makes the state after an event in its reader's place, unless somebody else has made it meanwhile.
func (p *pasts) make(
	ctx context.Context, by pastReader, sequence uint64, fold func() (*engine.Past, error),
) (x *keptPast, err error) {
	select {
	case p.folding <- struct{}{}:
		defer func() { <-p.folding }()
	case <-ctx.Done():
		p.made(by, nil)
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	x = p.find(sequence)
	p.mu.Unlock()
	if x == nil {
		var past *engine.Past
		if past, err = fold(); err == nil {
			x = &keptPast{Past: past, readers: map[string]int{}}
		}
	}
	p.made(by, x)
	return x, err
}

// made ends the making of a state, nil if that failed, and begins its reading.
func (p *pasts) made(by pastReader, x *keptPast) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.making, by.name)
	p.leaves(by)
	p.total--
	if x != nil {
		if !slices.Contains(p.states, x) {
			p.states = append(p.states, x)
		}
		p.reads(by, x)
	}
	p.tell()
}

// find returns the state after an event, nil if there is none.
func (p *pasts) find(sequence uint64) *keptPast {
	for i, x := range p.states {
		if x.Sequence() == sequence {
			p.states = append(slices.Delete(p.states, i, i+1), x)
			return x
		}
	}
	return nil
}

// room reports whether a reader may begin to read a state, which is nil if it has to be made.
func (p *pasts) room(by pastReader, x *keptPast) bool {
	if p.used[by.name] >= by.most {
		return false
	}
	return x != nil && len(x.readers) > 0 || p.total < by.all
}

func (p *pasts) reads(by pastReader, x *keptPast) {
	if x.idle != nil {
		x.idle.Stop()
		x.idle = nil
	}
	if len(x.readers) == 0 {
		p.total++
	}
	if x.readers[by.name] == 0 {
		p.used[by.name]++
	}
	x.readers[by.name]++
}

// leaves ends what a reader uses of its places.
func (p *pasts) leaves(by pastReader) {
	if p.used[by.name]--; p.used[by.name] == 0 {
		delete(p.used, by.name)
	}
}

// releasing returns what ends a read.
func (p *pasts) releasing(by pastReader, x *keptPast) func() {
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if x.readers[by.name]--; x.readers[by.name] > 0 {
			return
		}
		delete(x.readers, by.name)
		p.leaves(by)
		if len(x.readers) == 0 {
			p.total--
			x.idle = time.AfterFunc(pastIdle, func() { p.forget(x) })
			p.dropUnread()
		}
		p.tell()
	}
}

// dropUnread drops the least recently read states of those that nobody reads, if there are too many.
func (p *pasts) dropUnread() {
	unread := 0
	for i := len(p.states) - 1; i >= 0; i-- {
		x := p.states[i]
		if len(x.readers) > 0 {
			continue
		}
		if unread++; unread > pastsKept {
			x.idle.Stop()
			p.states = slices.Delete(p.states, i, i+1)
		}
	}
}

// forget drops a state that nobody has read for a while.
func (p *pasts) forget(x *keptPast) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(x.readers) == 0 {
		p.states = slices.DeleteFunc(p.states, func(other *keptPast) bool { return other == x })
	}
}

// tell tells those that wait for a place.
func (p *pasts) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

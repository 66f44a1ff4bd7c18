package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"maestro/engine"
	"maestro/projections"
)

// The bounds of the frames that are kept for readers who were cut off, or are slow: their number, and their bytes.
const (
	liveMost  = 4096
	liveBytes = 32 << 20
)

// liveIdle is how long the views are followed after the last reader left, so that one that reconnects finds them.
const liveIdle = time.Minute

// liveRest is how often a reader is told its position while what happens shows it nothing: many readers that wait for
// little should cost little.
const liveRest = time.Second

// livePause is how long a woken reader takes to send what came. The next frames come after the readers that are woken
// for some: what comes meanwhile is then sent together, instead of by a thousand readers for each event.
const livePause = 25 * time.Microsecond

// Live follows the log for those who watch its views, with a state of its own: it encodes each frame once, for all
// readers, and neither it nor they delay a write. It follows only while somebody watches.
type Live struct {
	handler *engine.Handler
	logger  *slog.Logger
	// templates shows templates.
	templates templateViews
	// rest is the least time between two messages that only tell a reader its position.
	rest time.Duration
	// asked tells Run that a reader came.
	asked chan struct{}

	mu sync.RWMutex
	// state and index are nil while nobody watches.
	state *projections.State
	index *projections.ViewIndex
	// frames is a ring of the newest frames: first is the sequence of the oldest one, next that after the newest.
	frames      []*liveFrame
	first, next uint64
	bytes       int
	readers     int
	// rereads counts the times that a reader was so slow that its frames were not kept any more, and were read from the
	// log again.
	rereads atomic.Uint64
	// unread counts the readers that were cut off because they did not read.
	unread atomic.Uint64
	// began is closed when the views are followed, and when that ended; failed says why it did.
	began  chan struct{}
	failed error
	// waits are those of the readers that have all frames.
	waits liveWaits
}

// newLive returns what follows the log of a handler. Run has to run for as long as readers are served.
func newLive(handler *engine.Handler, logger *slog.Logger, templates templateViews) *Live {
	return &Live{
		handler:   handler,
		logger:    logger,
		templates: templates,
		rest:      liveRest,
		asked:     make(chan struct{}, 1),
		began:     make(chan struct{}),
	}
}

// Run follows the log while there are readers, until ctx ends.
func (l *Live) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			l.ended(ctx.Err())
			return
		case <-l.asked:
		}
		err := l.follow(ctx)
		if err != nil && ctx.Err() == nil {
			l.logger.Error("the live views ended", "why", err)
		}
		l.ended(err)
	}
}

// errLiveIdle ends the following of the log when nobody watches any more.
var errLiveIdle = errors.New("nobody watches")

// follow follows the log until nobody has watched for a while, ctx ends, or the log cannot be read.
func (l *Live) follow(ctx context.Context) error {
	p, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	for {
		waiting, cancel := context.WithTimeoutCause(ctx, liveIdle, errLiveIdle)
		woken, err := l.keepNext(waiting, p)
		idle := context.Cause(waiting) == errLiveIdle //nolint:errorlint // it is the cause itself
		cancel()
		if err != nil && !idle {
			return err
		}
		if l.leaveIdle() {
			return nil
		}
		if woken > 1 {
			time.Sleep(time.Duration(woken-1) * livePause)
		}
	}
}

// keepNext waits for events, keeps their frames and wakes the readers that wait for them. woken is how many these are.
func (l *Live) keepNext(ctx context.Context, p *engine.Projection) (woken int, err error) {
	locked := false
	if err = p.Next(ctx, func() { l.mu.Lock(); locked = true }, l.add); !locked {
		return 0, err
	}
	var over []*liveWait
	if err == nil {
		over, woken = l.waits.take()
	}
	l.mu.Unlock()
	wake(over) // without the lock, which they take at once
	return woken, err
}

// begin folds the log up to its head.
func (l *Live) begin(ctx context.Context) (*engine.Projection, error) {
	head := uint64(0)
	l.handler.View(func(s *projections.State) { head = s.Head().Sequence })
	p, err := l.handler.NewProjection(ctx, head)
	if err != nil {
		return nil, err
	}
	index := projections.NewViewIndex(p.State())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.index, l.failed = p.State(), index, nil
	l.frames = make([]*liveFrame, liveMost)
	l.first, l.next, l.bytes = head+1, head+1, 0
	l.tellAll()
	return p, nil
}

// add keeps the frame of an event. It is called with the lock.
func (l *Live) add(c *engine.Commit) {
	f := frameOf(l.state, l.index, c, l.templates)
	if l.next-l.first == liveMost {
		l.drop()
	}
	l.waits.add(f, l.last())
	l.frames[l.next%liveMost] = f
	l.next++
	l.bytes += f.size
	for l.bytes > liveBytes && l.next-l.first > 1 {
		l.drop()
	}
}

func (l *Live) drop() {
	oldest := &l.frames[l.first%liveMost]
	l.bytes -= (*oldest).size
	*oldest = nil
	l.first++
}

// last returns the position after the newest frame that is kept; the zero value if there is none. It is called with the
// lock.
func (l *Live) last() Position {
	if l.state == nil || l.next == l.first {
		return Position{}
	}
	return l.frames[(l.next-1)%liveMost].Position
}

// tellAll wakes all that wait. It is called with the lock.
func (l *Live) tellAll() {
	close(l.began)
	l.began = make(chan struct{})
	l.waits.endAll()
	over, _ := l.waits.take()
	wake(over)
}

// leaveIdle stops keeping frames if nobody watches.
func (l *Live) leaveIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers > 0 {
		return false
	}
	l.forget(nil)
	return true
}

// ended says why the following ended.
func (l *Live) ended(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != nil || why != nil {
		l.forget(why)
	}
}

func (l *Live) forget(why error) {
	l.state, l.index, l.frames, l.failed = nil, nil, nil, why
	l.first, l.next, l.bytes = 0, 0, 0
	l.tellAll()
}

// list names all views, and returns the sequence after which they are so; 0 if the views are not followed.
func (l *Live) list(see func(projections.ViewKey)) (head uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.state == nil {
		return 0
	}
	for key := range l.index.Keys(l.state) {
		see(key)
	}
	return l.state.Head().Sequence
}

// enter counts a reader, and waits until the views are followed. The reader must leave.
func (l *Live) enter(ctx context.Context) error {
	l.mu.Lock()
	l.readers++
	if l.state == nil {
		l.failed = nil
	}
	l.mu.Unlock()
	for {
		l.mu.RLock()
		ready, failed, began := l.state != nil, l.failed, l.began
		l.mu.RUnlock()
		if ready {
			return nil
		}
		if failed != nil {
			l.leave()
			return failed
		}
		select {
		case l.asked <- struct{}{}:
		default:
		}
		select {
		case <-began:
		case <-ctx.Done():
			l.leave()
			return ctx.Err()
		}
	}
}

func (l *Live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers--
}

// errNotKept says that the next frame of a reader is not kept any more.
var errNotKept = errors.New("the next frame is not kept any more")

// from appends kept frames from a sequence on, at most most. If there are none yet, the reader waits with a filter, and
// must end that.
func (l *Live) from(sequence uint64, to []*liveFrame, most int, f *WatchFilter) ([]*liveFrame, *liveWait, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case l.failed != nil:
		return to, nil, l.failed
	case l.state == nil || sequence < l.first:
		return to, nil, errNotKept
	case sequence >= l.next:
		return to, l.waits.join(f), nil
	}
	for ; sequence < l.next && most > 0; most-- {
		to = append(to, l.frames[sequence%liveMost])
		sequence++
	}
	return to, nil, nil
}

// endWait ends a reader's wait. It returns the position up to which nothing came that may be shown to the reader, and
// whether something came after it.
func (l *Live) endWait(w *liveWait) (before Position, came bool) {
	select {
	case <-w.ended: // the most frequent case takes no lock
		return w.before, true
	default:
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.waits.leave(w) {
		return w.before, true
	}
	return l.last(), false
}

package supervisor

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"maestro/service/wire"
)

// The limits of the socket of an agent, which can start as many processes as it wants. Whatever is beyond one waits, so
// that an agent that goes too fast slows itself down, and loses nothing. A hook that waits for too long denies.
const (
	// mostConnections is how many connections are open. Waiting calls and streams keep theirs.
	mostConnections = 512
	// mostAtOnce is how many requests of each kind are answered at once: reads that wait for hours must leave room for
	// commands, and both for the hook.
	mostAtOnce = 64
	// mostHooked bounds the bodies of the calls that are being decided, in bytes. One call may need them all.
	mostHooked = 2 * maxPayload
	// bodyWithin is how long a body may take to come, once its turn has come.
	bodyWithin = 30 * time.Second
	// idleWithin is how long a connection may stay open without a request.
	idleWithin = 5 * time.Minute
)

// slots are a semaphore: it holds one element for each user.
type slots chan struct{}

// take takes a slot. It fails when ctx ends first.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) leave() { <-s }

// atOnce lets a handler answer some requests at once; the others wait in their connections, and are not read before.
func atOnce(most int, next http.HandlerFunc) http.HandlerFunc {
	free := make(slots, most)
	return func(w http.ResponseWriter, r *http.Request) {
		if free.take(r.Context()) != nil {
			closing(w)
			return
		}
		defer free.leave()
		if r.ContentLength != 0 { // without a body, the server waits already for the client's end, without a deadline
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // only a test has none
		}
		next(w, r)
	}
}

// closing answers a request that waited until the socket was closed. Without an answer, it would look like a success.
func closing(w http.ResponseWriter) {
	refuse(w, http.StatusServiceUnavailable, wire.Problem{
		Code:    wire.CodeNoServer,
		Message: "The run is ending",
		Why:     "the request waited for others until the socket was closed",
	})
}

// budget bounds a sum.
type budget struct {
	mu   sync.Mutex
	left int64
	// freed is closed when something is given back.
	freed chan struct{}
}

func newBudget(most int64) *budget { return &budget{left: most, freed: make(chan struct{})} }

// take takes a part, which must not be more than the whole. It fails when ctx ends first.
func (b *budget) take(ctx context.Context, part int64) error {
	for {
		b.mu.Lock()
		if part <= b.left {
			b.left -= part
			b.mu.Unlock()
			return nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *budget) give(part int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += part
	close(b.freed)
	b.freed = make(chan struct{})
}

// hooked lets a handler decide about calls whose bodies are some bytes together.
func hooked(most int64, next http.HandlerFunc) http.HandlerFunc {
	room := newBudget(most)
	return func(w http.ResponseWriter, r *http.Request) {
		part := r.ContentLength
		if part < 0 || part > maxPayload {
			part = maxPayload // it reads no more
		}
		if room.take(r.Context(), part) != nil {
			closing(w)
			return
		}
		defer room.give(part)
		next(w, r)
	}
}

// fewConnections is a listener that accepts a connection once fewer than some are open.
type fewConnections struct {
	net.Listener
	free   slots
	closed chan struct{}
	once   sync.Once
}

func newFewConnections(listener net.Listener, most int) *fewConnections {
	return &fewConnections{
		Listener: listener,
		free:     make(slots, most),
		closed:   make(chan struct{}),
	}
}

// Accept implements net.Listener.
func (l *fewConnections) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.free.leave()
	}
	return conn, err
}

// Close implements net.Listener.
func (l *fewConnections) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// became notes what a server did with a connection. The server itself closes each that it accepted.
func (l *fewConnections) became(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		l.free.leave()
	}
}

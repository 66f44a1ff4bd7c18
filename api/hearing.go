package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"maestro/service"
)

// net/http notices that a client leaves only after the body of its call was read. A call that waits before that, for
// its turn or because it is refused, has to listen itself.

const (
	// droppedMost bounds what is received of the body of a refused call while its answer is delayed.
	droppedMost = 1 << 20
	// shortest is the room for what is received at first: mostly nothing comes any more.
	shortest = 512
)

// hearing is the context of a call whose body has not been read. Once somebody waits for its end, it listens to the
// connection, and ends when the client leaves or the server closes the connection.
type hearing struct {
	context.Context
	on   *connection
	body *stoppingBody
	// drop says that nobody will read the body, and that it is too long to keep.
	drop bool
	once sync.Once
	// waiting is the context that ends with the client, ended is closed after listening; nil before.
	waiting context.Context
	end     context.CancelFunc
	ended   chan struct{}
}

// hear returns a context for what a call waits for before its body is read; unwanted says that nobody will read it. The
// caller must call deaf before anything reads the body or answers.
func hear(r *http.Request, unwanted bool) (ctx context.Context, deaf func()) {
	on, ok := r.Context().Value(connectionKey{}).(*connection)
	body, unread := r.Body.(*stoppingBody)
	if !ok || !unread || body.over {
		return r.Context(), func() {}
	}
	h := &hearing{
		Context: r.Context(),
		on:      on,
		body:    body,
		drop:    unwanted && (r.ContentLength < 0 || r.ContentLength > service.FreeBody),
	}
	return h, h.deaf
}

// delayed calls wait, which may delay the answer to a call whose body nobody will read, and says whether the connection
// has to be closed after the answer.
func delayed(w http.ResponseWriter, r *http.Request, wait func(context.Context) (hangUp bool)) {
	ctx, deaf := hear(r, true)
	hangUp := wait(ctx)
	deaf()
	if hangUp {
		closeAfter(w, r)
	}
}

// closeAfter closes a connection after the answer. What is left of the body is read only for its sender's sake.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	w.Header()["Connection"] = closes
	if body, ok := r.Body.(*stoppingBody); ok && !body.over {
		body.forget()
		body.unwanted()
	}
}

var closes = []string{"close"}

// Done implements context.Context.
func (h *hearing) Done() <-chan struct{} {
	h.once.Do(func() {
		h.waiting, h.end = context.WithCancel(h.Context)
		h.ended = make(chan struct{})
		go func() {
			defer close(h.ended)
			if h.on.listen(h.drop) {
				h.end()
			}
		}()
	})
	return h.waiting.Done()
}

// Err implements context.Context.
func (h *hearing) Err() error {
	if h.waiting != nil {
		return h.waiting.Err()
	}
	return h.Context.Err()
}

func (h *hearing) deaf() {
	if h.waiting != nil {
		h.body.interrupt(h.ended)
		h.end()
	}
}

// interrupt ends a read of the body's connection.
func (b *stoppingBody) interrupt(ended <-chan struct{}) {
	b.limit(time.Unix(1, 0))
	<-ended
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isCut {
		b.deadline(time.Time{})
	}
}

// listen receives what the client sends, and reports whether the client left. It keeps as much for a later Read as is
// not counted of a body, or drops all: then the connection ends with its call. It ends with the connection's deadline.
func (c *connection) listen(drop bool) (left bool) {
	if drop {
		return c.discard()
	}
	room := shortest
	if len(c.ahead) > 0 {
		room = service.FreeBody
	}
	for ; len(c.ahead) < service.FreeBody; room = service.FreeBody {
		c.ahead = slices.Grow(c.ahead, room-len(c.ahead))
		n, err := c.Conn.Read(c.ahead[len(c.ahead):room])
		c.ahead = c.ahead[:len(c.ahead)+n]
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return false
}

// wastes are buffers for what is dropped.
var wastes = sync.Pool{New: func() any { return new([service.FreeBody]byte) }}

// discard is listen for what nobody will read.
func (c *connection) discard() (left bool) {
	waste := wastes.Get().(*[service.FreeBody]byte)
	defer wastes.Put(waste)
	for received := 0; received < droppedMost; {
		n, err := c.Conn.Read(waste[:])
		c.dropped = c.dropped || n > 0
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		received += n
	}
	return false
}

// receive reads what listen kept, and then what the client sends.
func (c *connection) receive(b []byte) (int, error) {
	switch {
	case len(c.ahead) > 0:
		n := copy(b, c.ahead)
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil
		}
		return n, nil
	case c.dropped:
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

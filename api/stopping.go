package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"maestro/service"
)

// stoppingBody is a body that no longer has to arrive when the server stops. What has arrived is handled.
type stoppingBody struct {
	io.ReadCloser
	server *server
	to     http.ResponseWriter
	// begun says that it is read; open, that a stop cuts it.
	begun, open bool
	// busy is marked when all of it is there.
	busy served
	// counted counts what has come, and may refuse the rest; nil if it is not counted.
	counted interface{ AddBodyBytes(n int64) error }
	// brought is how much has come. All of it must be there at latest; once more has come than is free, the next of it
	// must at next.
	brought      int64
	latest, next time.Time

	mu sync.Mutex
	// over says that all of it was read: no deadline may follow.
	over bool
}

// within bounds from now on how long the body may take.
func (b *stoppingBody) within(d time.Duration) {
	b.latest = time.Now().Add(d)
	b.deadline(b.latest)
}

// deadline bounds when the next of it must have come; tests' recorders know none.
func (b *stoppingBody) deadline(at time.Time) {
	_ = http.NewResponseController(b.to).SetReadDeadline(at)
}

// keepPace moves the time by which more of the body has to come.
func (b *stoppingBody) keepPace(n int64) {
	if b.brought += n; b.brought <= service.FreeBody {
		return
	}
	stall := time.Now().Add(stallWithin)
	if b.next.IsZero() {
		b.next = stall
	}
	if b.next = b.next.Add(time.Duration(n) * time.Second / bodyPace); b.next.After(stall) {
		b.next = stall
	}
	if b.next.Before(b.latest) {
		b.deadline(b.next)
	} else {
		b.deadline(b.latest)
	}
	if b.server.Stopping.Err() != nil { // the deadline that this set was just replaced
		b.cut()
	}
}

// cut waits for no more of the body.
func (b *stoppingBody) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.deadline(time.Unix(1, 0))
	}
}

// end takes the deadline away: net/http continues reading, to learn whether the caller is still there, and takes a
// deadline that passes for its end.
func (b *stoppingBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.deadline(time.Time{})
}

// Read implements io.Reader.
func (b *stoppingBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun, b.open = true, true
		b.server.bodies.add(b)
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.counted != nil {
		if over := b.counted.AddBodyBytes(int64(n)); over != nil {
			b.forget()
			b.unwanted()
			return 0, over
		}
		b.keepPace(int64(n))
	}
	if err != nil {
		b.forget()
		if err == io.EOF {
			b.end()
		}
		if err == io.EOF {
			b.busy.begin()
			b.busy = served{}
		}
		if err != io.EOF && b.server.Stopping.Err() != nil {
			return n, service.ErrStopping
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && b.counted != nil {
			err = errTooSlow
		}
	}
	return n, err
}

var errTooSlow = &service.Problem{
	Kind:    service.KindInvalid,
	Code:    "VALIDATION_ERROR",
	Message: "The body is cut: it came too slowly",
	Why:     "a body has 30 s, and a long one must bring 64 KiB each second",
	Next:    "send it again with the same key",
}

// unwanted says that the rest is read for its sender's sake only: it gets little time.
func (b *stoppingBody) unwanted() {
	b.busy, b.counted = served{}, nil
	if b.server.Stopping.Err() != nil {
		return // it gets none at all
	}
	b.deadline(time.Now().Add(refusedBodyWithin))
}

// forget lets a stop cut it no more.
func (b *stoppingBody) forget() {
	if b.open {
		b.open = false
		b.server.bodies.remove(b)
	}
}

// bodies are those that are being read.
type bodies struct {
	stopping context.Context
	mu       sync.Mutex
	open     map[*stoppingBody]struct{}
}

// cutAt cuts them once the server stops.
func (all *bodies) cutAt(stopping context.Context) {
	all.stopping, all.open = stopping, map[*stoppingBody]struct{}{}
	context.AfterFunc(stopping, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		for b := range all.open {
			b.cut()
		}
	})
}

// add lets a stop cut a body; one that begins later is cut soon.
func (all *bodies) add(b *stoppingBody) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[b] = struct{}{}
	if all.stopping.Err() != nil {
		context.AfterFunc(all.stopping, b.cut)
	}
}

func (all *bodies) remove(b *stoppingBody) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, b)
}

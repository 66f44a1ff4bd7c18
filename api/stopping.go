package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"maestro/commands"
	"maestro/service"
)

// stoppingBody is a body that does not have to arrive any more when the server stops. What has arrived is handled.
type stoppingBody struct {
	io.ReadCloser
	server *server
	to     http.ResponseWriter
	// open says that it is one of the server's bodies, which a stop cuts.
	open bool
	// busy is marked once the whole body has arrived.
	busy served
	// arrived is asked once the whole body has arrived, and may refuse the call: a body may take longer than its
	// sender's credential is valid. nil for a body that nobody reads.
	arrived func() error
	// counted counts the received bytes, and may refuse the rest; nil if they are not counted.
	counted interface{ AddBodyBytes(n int64) error }
	// brought is the number of received bytes. The whole body must have arrived at latest; once more than the free part
	// has arrived, the next bytes must arrive by next.
	brought      int64
	latest, next time.Time

	mu sync.Mutex
	// over says that the whole body was read: no further deadline may be set. limited says that its connection has one,
	// isCut that it is over.
	over, limited, isCut bool
}

// within bounds the time for the body from now on. Its connection gets no deadline: nearly all bodies arrive with their
// header, and a deadline for each takes time. The server's bodies share a timer instead.
func (b *stoppingBody) within(d time.Duration) {
	b.open = true
	b.server.bodies.add(b, time.Now().Add(d))
}

// deadline sets when the next bytes must have arrived. The recorders of tests do not support it. The caller holds mu.
func (b *stoppingBody) deadline(at time.Time) {
	b.limited = !at.IsZero()
	_ = http.NewResponseController(b.to).SetReadDeadline(at)
}

func (b *stoppingBody) limit(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline(at)
}

// keepPace moves the deadline for more of the body.
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
		b.limit(b.next)
	} else {
		b.limit(b.latest)
	}
	if b.server.Stopping.Err() != nil { // the deadline that this set was just replaced
		b.cut()
	}
}

// cut stops waiting for the body.
func (b *stoppingBody) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.isCut = true
		b.deadline(time.Unix(1, 0))
	}
}

// leave ends the handling of the body. net/http may read the rest of a body that was not wanted, within the time that
// the body had.
func (b *stoppingBody) leave() {
	b.forget()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over && !b.limited {
		b.deadline(b.latest)
	}
}

// end removes the deadline: net/http continues reading, to detect whether the client is still connected, and would
// treat a missed deadline as a disconnect.
func (b *stoppingBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.limited {
		b.deadline(time.Time{})
	}
}

// Read implements io.Reader.
func (b *stoppingBody) Read(p []byte) (int, error) {
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
			if b.arrived != nil {
				if over := b.arrived(); over != nil {
					return 0, over
				}
			}
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
	Code:    string(commands.CodeInvalid),
	Message: "The body arrived too slowly",
	Why:     "a body has 30 s, and a long one must deliver 64 KiB each second",
	Next:    "send it again with the same key",
}

// unwanted says that the rest is read only for its sender's sake: it gets little time.
func (b *stoppingBody) unwanted() {
	b.busy, b.counted = served{}, nil
	if b.server.Stopping.Err() != nil {
		return // it gets none at all
	}
	b.limit(time.Now().Add(refusedBodyWithin))
}

// forget excludes the body from the cut at a stop.
func (b *stoppingBody) forget() {
	if b.open {
		b.open = false
		b.server.bodies.remove(b)
	}
}

// bodies are those that have not all come. A stop cuts them, and so does the end of their time.
type bodies struct {
	stopping context.Context
	mu       sync.Mutex
	open     map[*stoppingBody]struct{}
	// timer looks for those whose time is over, at the time next; it does not run while next is zero.
	timer *time.Timer
	next  time.Time
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

// add lets a stop cut a body, and the timer at its latest time; one that begins after the stop is cut soon.
func (all *bodies) add(b *stoppingBody, latest time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	b.latest = latest
	all.open[b] = struct{}{}
	if all.next.IsZero() || latest.Before(all.next) {
		all.lookAt(latest)
	}
	if all.stopping.Err() != nil {
		context.AfterFunc(all.stopping, b.cut)
	}
}

// lookAt starts the timer. The caller holds mu.
func (all *bodies) lookAt(at time.Time) {
	all.next = at
	if all.timer == nil {
		all.timer = time.AfterFunc(time.Until(at), all.cutLate)
		return
	}
	all.timer.Reset(time.Until(at))
}

// cutLate cuts those whose time is over.
func (all *bodies) cutLate() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.next = time.Time{}
	now, earliest := time.Now(), time.Time{}
	for b := range all.open {
		switch {
		case !b.latest.After(now):
			b.cut()
		case earliest.IsZero() || b.latest.Before(earliest):
			earliest = b.latest
		}
	}
	if !earliest.IsZero() {
		all.lookAt(earliest)
	}
}

func (all *bodies) remove(b *stoppingBody) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, b)
}

package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
)

type countsNothing struct{}

func (countsNothing) AddBodyBytes(int64) error { return nil }

// deadlines is a ResponseWriter that notes the deadlines that its connection is given.
type deadlines struct {
	*httptest.ResponseRecorder
	last *time.Time
}

func (d deadlines) SetReadDeadline(at time.Time) error {
	*d.last = at
	return nil
}

// bodyOf returns a body of a server, whose deadlines last is told.
func bodyOf(t *testing.T, s *server, from io.Reader, last *time.Time) *stoppingBody {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", from)
	return &stoppingBody{
		ReadCloser: r.Body,
		server:     s,
		to:         deadlines{httptest.NewRecorder(), last},
		counted:    countsNothing{},
	}
}

func bodiesServer(t *testing.T) *server {
	stopping, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	s := &server{Service: &service.Service{Config: service.Config{Stopping: stopping}}}
	s.bodies.cutAt(stopping)
	return s
}

// A body that arrives at once sets no deadline. The deadline of a longer one is removed after the body: otherwise
// net/http would consider a caller that waits longer, and every later call on its connection, as gone.
func TestBodyDeadlineIsRemoved(t *testing.T) {
	s := bodiesServer(t)
	untouched := time.Unix(1, 0)
	for size, want := range map[int]time.Time{1: untouched, service.FreeBody - 1: untouched, 3 * service.FreeBody: {}} {
		at := untouched
		body := bodyOf(t, s, strings.NewReader(strings.Repeat(" ", size)), &at)
		body.within(bodyWithin)
		if _, err := io.Copy(io.Discard, body); err != nil || at != want {
			t.Errorf("%d bytes: %v; the deadline is %s", size, err, at)
		}
		if body.leave(); at != want {
			t.Errorf("%d bytes, while the call is handled, the deadline is %s", size, at)
		}
	}
	if len(s.bodies.open) != 0 {
		t.Errorf("%d bodies are still registered", len(s.bodies.open))
	}
}

// Each body that does not arrive is cut off at its own deadline, not earlier.
func TestLateBodiesAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bodiesServer(t)
		begun := time.Now()
		cut := time.Unix(1, 0)
		var deadlines [4]time.Time
		var bodies [4]*stoppingBody
		for i, within := range []time.Duration{bodyWithin, endedBodyWithin, 2 * endedBodyWithin, bodyWithin} {
			bodies[i] = bodyOf(t, s, strings.NewReader("x"), &deadlines[i])
			bodies[i].within(within)
			time.Sleep(time.Second)
		}
		for _, want := range []struct {
			at   time.Duration
			late [4]bool
		}{
			{endedBodyWithin, [4]bool{}},
			{endedBodyWithin + 2*time.Second, [4]bool{false, true}},
			{2*endedBodyWithin + 3*time.Second, [4]bool{false, true, true}},
			{bodyWithin + time.Second, [4]bool{true, true, true}},
			{bodyWithin + 4*time.Second, [4]bool{true, true, true, true}},
		} {
			time.Sleep(want.at - time.Since(begun))
			synctest.Wait()
			for i, body := range bodies {
				body.mu.Lock()
				if got := deadlines[i].Equal(cut); got != want.late[i] {
					t.Errorf("after %s, body %d is cut: %t", time.Since(begun), i, got)
				}
				body.mu.Unlock()
			}
		}
		var at time.Time
		later := bodyOf(t, s, strings.NewReader("x"), &at)
		later.within(bodyWithin)
		time.Sleep(bodyWithin)
		synctest.Wait()
		later.mu.Lock()
		defer later.mu.Unlock()
		if !at.Equal(cut) {
			t.Error("a body that began when no other was awaited is not cut off")
		}
	})
}

// The rest of a body gets a deadline when its call is over, because net/http reads it.
func TestRestOfBodyHasDeadline(t *testing.T) {
	s := bodiesServer(t)
	var at time.Time
	body := bodyOf(t, s, strings.NewReader(strings.Repeat(" ", 100)), &at)
	body.within(bodyWithin)
	latest := body.latest
	if body.leave(); !at.Equal(latest) || at.IsZero() {
		t.Errorf("the deadline is %s, of %s", at, latest)
	}
}

package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

// The deadline of a body ends with the body: net/http would take a caller that waits longer for gone, and every later
// call of its connection too.
func TestADeadlineEndsWithItsBody(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	for _, size := range []int{1, service.FreeBody - 1, 3 * service.FreeBody} {
		at := time.Unix(1, 0)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat(" ",
			size)))
		w := deadlines{httptest.NewRecorder(), &at}
		s := &server{Service: &service.Service{Config: service.Config{Stopping: stopping}}}
		s.bodies.cutAt(stopping)
		body := &stoppingBody{
			ReadCloser: r.Body,
			server:     s,
			to:         w,
			counted:    countsNothing{},
		}
		body.within(bodyWithin)
		if at.IsZero() {
			t.Fatal("a body has no deadline")
		}
		if _, err := io.Copy(io.Discard, body); err != nil || !at.IsZero() {
			t.Errorf("%d bytes: %v; the deadline is %s", size, err, at)
		}
	}
	stop()
}

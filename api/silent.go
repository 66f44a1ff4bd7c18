package api

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// silentFor is how long a connection may go on without a whole request when the server stops.
const silentFor = 300 * time.Millisecond

// Silent are the connections on which no request is being answered. When the server stops, net/http waits seconds for
// those that have not said what they want; this does not.
type Silent struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

type silentKey struct{}

// Watch makes a server tell of its connections, beside who watches them already.
func (s *Silent) Watch(server *http.Server) {
	s.conns = map[net.Conn]struct{}{}
	others := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(others(ctx, c), silentKey{}, c)
	}
	watching := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		watching(c, state)
		switch state {
		case http.StateNew:
			s.note(c, true)
		case http.StateClosed, http.StateHijacked:
			s.note(c, false)
		case http.StateActive, http.StateIdle:
		}
	}
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(silentKey{}).(net.Conn)
		s.note(c, false)
		handler.ServeHTTP(w, r)
		s.note(c, true)
	})
}

func (s *Silent) note(c net.Conn, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is {
		s.conns[c] = struct{}{}
	} else {
		delete(s.conns, c)
	}
}

// Hurry lets no connection take longer for its request than silentFor.
func (s *Silent) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.SetReadDeadline(time.Now().Add(silentFor))
	}
}

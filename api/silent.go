package api

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// silentFor is how long a connection may take to complete a request when the server stops.
const silentFor = 300 * time.Millisecond

// Silent tracks the connections on which no request is being answered. When the server stops, net/http waits seconds
// for those that have sent no complete request; Silent shortens that.
type Silent struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

type silentKey struct{}

// Watch makes a server report its connections, in addition to an existing observer.
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

// Hurry limits every connection's request to silentFor.
func (s *Silent) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.SetReadDeadline(time.Now().Add(silentFor))
	}
}

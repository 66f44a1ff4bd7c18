package natslive

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// stranger opens a connection that shows no token. The function that it returns reads until the server closes it.
func stranger(ctx context.Context, address string) (gone func(), err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return func() {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}, nil
}

// Connections without a token do not use up the places: the oldest give way, and are opened again here as soon as they
// are closed, while clients with a token come and stay.
func TestStrangersGiveWay(t *testing.T) {
	w := newWorld(t, nil)
	token := w.token(`{"name":"ann","kind":"auditor"}`)
	first := w.connect(token)
	address := w.live.Address().String()
	const many = maxStrangers + 200
	var attack sync.WaitGroup
	closed, over := make(chan struct{}, 100_000), make(chan struct{})
	opened := make(chan struct{}, many)
	for range many {
		attack.Go(func() {
			for n := 0; ; n++ {
				gone, err := stranger(t.Context(), address)
				if n == 0 {
					opened <- struct{}{}
				}
				if err != nil {
					return
				}
				gone()
				select {
				case <-over:
					return
				case closed <- struct{}{}:
				}
			}
		})
	}
	for range many {
		<-opened
	}
	for range 100 {
		<-closed
	}
	for range 20 {
		c, err := w.dial(nats.Token(token))
		if err != nil {
			t.Errorf("a client with a token finds no place: %v", err)
			break
		}
		c.Close()
	}
	if !first.IsConnected() {
		t.Error("a client that was there lost its connection")
	}
	close(over)
	w.live.Close()
	attack.Wait()
}

// A client that finds no place learns that this is a limit, not that its token is wrong.
func TestWhoFindsNoPlace(t *testing.T) {
	w := newWorld(t, nil)
	token := w.token(`{"name":"ann","kind":"auditor"}`)
	for range perCredential {
		w.connect(token)
	}
	refused := func(what, token string) {
		t.Helper()
		_, err := w.dial(nats.Token(token))
		if err == nil || !strings.Contains(err.Error(), "maximum account active connections exceeded") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("one connection of a token too many", token)
	for n := 1; n < maxConnections/(perCredential+1); n++ { // each has a feed of its own besides
		other := w.token(`{"name":"b` + strings.Repeat("b", n) + `","kind":"auditor"}`)
		for range perCredential {
			w.connect(other)
		}
	}
	last := w.token(`{"name":"last","kind":"auditor"}`)
	for {
		if _, err := w.dial(nats.Token(last)); err != nil {
			break
		}
	}
	refused("one connection too many", adminToken)
}

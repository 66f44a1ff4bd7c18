package listen

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maestro/api"
	"maestro/service"
)

const waiters = 50

// silent is what connections that never send a whole request have sent.
var silent = []string{"", "GET / HT", "POST /x HTTP/1.1\r\nHost: x\r\n"}

// watching counts the silent connections, which come first, that get a time limit once the server stops.
type watching struct {
	net.Listener
	accepted int
	stops    atomic.Bool
	limited  atomic.Int64
}

func (l *watching) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if l.accepted++; err != nil || l.accepted > len(silent) {
		return conn, err
	}
	return &watchedConn{conn, l}, nil
}

type watchedConn struct {
	net.Conn
	by *watching
}

func (c *watchedConn) SetReadDeadline(at time.Time) error {
	if c.by.stops.Load() && !at.IsZero() {
		c.by.limited.Add(1)
	}
	return c.Conn.SetReadDeadline(at)
}

// A server that is told to stop answers all waiting callers before it waits for anything. Connections that send nothing
// do not delay it.
func TestStopAnswersWhoWaits(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := URL("http", listener.Addr())
	watched := &watching{Listener: listener}
	ctx, terminate := context.WithCancel(t.Context())
	stopping, stop := context.WithCancel(t.Context())
	arrived := make(chan struct{}, waiters)
	var written sync.WaitGroup
	written.Add(waiters)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer written.Done()
		arrived <- struct{}{}
		<-stopping.Done()
		w.WriteHeader(http.StatusServiceUnavailable)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	// All answers are written before the server shuts down, which would end their connections by itself.
	stopped := func() { stop(); written.Wait(); watched.stops.Store(true) }
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	ended := make(chan error, 1)
	go func() { ended <- Until(ctx, api.Bound(watched, &service.Limits{}), handler, stopped, logger) }()

	for _, said := range silent {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
	}
	var answered atomic.Int64
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			resp, err := (&http.Client{Transport: &http.Transport{}}).Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusServiceUnavailable && resp.Close {
				answered.Add(1)
			}
		})
	}
	for range waiters {
		<-arrived
	}
	terminate()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	all.Wait()
	if n := answered.Load(); n != waiters {
		t.Errorf("%d of %d got an answer that ends the connection", n, waiters)
	}
	if n := watched.limited.Load(); n != int64(len(silent)) {
		t.Errorf("%d of %d silent connections got a short time limit", n, len(silent))
	}
	if strings.Contains(logged.String(), "did not finish in time") {
		t.Errorf("the server waited in vain:\n%s", logged.String())
	}
}

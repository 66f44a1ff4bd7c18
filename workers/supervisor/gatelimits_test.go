package supervisor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that their deadlines are those of a bubble.
type pipes struct {
	came   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{came: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.came:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial returns the client's end of a connection, once it is accepted.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.came <- server
	return client
}

// served lets the server of a gate serve a handler as its hook, and returns where to connect.
func served(t *testing.T, most int, hook http.HandlerFunc) *pipes {
	t.Helper()
	p := newPipes()
	few := newFewConnections(p, most)
	g := &gate{logger: slog.New(slog.DiscardHandler)}
	server := g.server(t.Context(), few, hooked(mostHooked, atOnce(mostAtOnce, hook)))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(few) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return p
}

const askedOf = "POST /hook HTTP/1.1\r\nHost: supervisor\r\nContent-Length: 4\r\n\r\n"

// A hook may wait for an answer for hours, and so may a read. One that is gone ends its request.
func TestHookMayWaitForHours(t *testing.T) {
	for name, test := range map[string]struct {
		sent  string
		stays bool
	}{
		"stays":                  {askedOf + "call", true},
		"stays, and has no body": {"GET /hook HTTP/1.1\r\nHost: supervisor\r\n\r\n", true},
		"is gone":                {askedOf + "call", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, ended := time.Now(), make(chan error, 1)
				p := served(t, 1, func(w http.ResponseWriter, r *http.Request) {
					_, err := io.ReadAll(r.Body)
					select {
					case <-time.After(3 * time.Hour):
					case <-r.Context().Done():
					}
					ended <- errors.Join(err, r.Context().Err())
					_, _ = io.WriteString(w, "judged")
				})
				conn := p.dial()
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, test.sent); err != nil {
					t.Fatal(err)
				}
				if !test.stays {
					synctest.Wait()
					_ = conn.Close()
					if err := <-ended; err == nil || time.Since(began) > 0 {
						t.Errorf("after %s: %v", time.Since(began), err)
					}
					return
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				if err := <-ended; err != nil || string(body) != "judged" || time.Since(began) != 3*time.Hour {
					t.Errorf("after %s: %s %q, %v", time.Since(began), resp.Status, body, err)
				}
			})
		})
	}
}

// A body that does not come, and a connection without a request, are not waited for.
func TestGateDoesNotWaitForNothing(t *testing.T) {
	for name, test := range map[string]struct {
		sent string
		want time.Duration
	}{
		"a body":    {askedOf + "ca", bodyWithin},
		"headers":   {"POST /hook HT", headsWithin},
		"a request": {"", headsWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := served(t, 1, func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.ReadAll(r.Body); err == nil {
						t.Error("half a body is read as a whole one")
					}
					w.Header().Set("Connection", "close")
				})
				conn := p.dial()
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, test.sent); err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, conn)
				if took := time.Since(began); took < test.want || took > test.want+time.Second {
					t.Errorf("it took %s, want %s", took, test.want)
				}
			})
		})
	}
}

// A connection beyond the limit waits until another one has ended, also one that never made a request.
func TestConnectionsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := served(t, 2, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		first, second := p.dial(), p.dial()
		defer func() { _ = second.Close() }()
		third := make(chan net.Conn, 1)
		var opening sync.WaitGroup
		opening.Go(func() { third <- p.dial() })
		synctest.Wait()
		if len(third) > 0 {
			t.Error("a third connection is open")
		}
		_ = first.Close()
		opening.Wait()
		_ = (<-third).Close()
	})
}

// turns are requests of a handler that answers each when it is told to.
type turns struct {
	t       *testing.T
	handler http.Handler
	group   sync.WaitGroup
	mu      sync.Mutex
	at      []string
	goOn    chan struct{}
}

func newTurns(t *testing.T, limit func(next http.HandlerFunc) http.HandlerFunc) *turns {
	x := &turns{t: t, goOn: make(chan struct{})}
	x.handler = limit(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		x.at = append(x.at, r.URL.Path)
		x.mu.Unlock()
		<-x.goOn
		w.WriteHeader(http.StatusNoContent)
	})
	return x
}

// ask makes a request with a body of a length, and returns what it is answered with.
func (x *turns) ask(ctx context.Context, path string, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader("a call"))
	r.ContentLength = length
	w := httptest.NewRecorder()
	x.group.Go(func() { x.handler.ServeHTTP(w, r) })
	synctest.Wait()
	return w
}

func (x *turns) are(want ...string) {
	x.t.Helper()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Equal(x.at, want) {
		x.t.Errorf("it answers %q, want %q", x.at, want)
	}
}

// A request beyond the limit waits, and is not refused. One that waited until the socket was closed is no success.
func TestRequestsWaitForTheirTurn(t *testing.T) {
	for name, test := range map[string]struct {
		limit  func(next http.HandlerFunc) http.HandlerFunc
		length int64
	}{
		"their number": {func(next http.HandlerFunc) http.HandlerFunc { return atOnce(2, next) }, 6},
		"their bytes":  {func(next http.HandlerFunc) http.HandlerFunc { return hooked(20, next) }, 10},
		"bytes that they do not tell": {
			func(next http.HandlerFunc) http.HandlerFunc { return hooked(2*maxPayload, next) }, -1,
		},
		"more bytes than are read": {
			func(next http.HandlerFunc) http.HandlerFunc { return hooked(2*maxPayload, next) }, 1 << 60,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTurns(t, test.limit)
				ctx, cancel := context.WithCancel(t.Context())
				x.ask(t.Context(), "/1", test.length)
				x.ask(t.Context(), "/2", test.length)
				third := x.ask(t.Context(), "/3", test.length)
				x.are("/1", "/2")
				x.goOn <- struct{}{}
				x.are("/1", "/2", "/3")
				fourth := x.ask(ctx, "/4", test.length)
				cancel()
				x.are("/1", "/2", "/3")
				close(x.goOn)
				x.group.Wait()
				if third.Code != http.StatusNoContent || fourth.Code != http.StatusServiceUnavailable {
					t.Errorf("answered %d and %d", third.Code, fourth.Code)
				}
				x.ask(t.Context(), "/5", test.length) // everything was given back
				x.ask(t.Context(), "/6", test.length)
				x.are("/1", "/2", "/3", "/5", "/6")
			})
		})
	}
}

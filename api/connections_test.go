package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api"
	"maestro/service"
)

// pipes is a listener whose connections are made in memory, so that their deadlines are synctest's.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve starts a server as `maestro serve` does, and returns a way to dial it.
func serve(t *testing.T, handler http.Handler, limits *service.Limits) (dial func() net.Conn) {
	connect := serveConns(t, handler, limits)
	return func() net.Conn {
		ours, theirs := net.Pipe()
		connect(theirs)
		t.Cleanup(func() { _ = ours.Close() })
		return ours
	}
}

// serveConns is serve for connections of the caller's own.
func serveConns(t *testing.T, handler http.Handler, limits *service.Limits) (connect func(net.Conn)) {
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	listener := api.Bound(p, limits)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	listener.Configure(server)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return func(c net.Conn) { p.made <- c }
}

func ask(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Error(err)
	}
}

// TestSlowReaderIsCutOff: an answer that its client does not read is cut off after half a minute; one that is read
// slowly arrives completely, however long it takes.
func TestSlowReaderIsCutOff(t *testing.T) {
	const length = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		dial := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			began := time.Now()
			_, _ = w.Write(make([]byte, length))
			ended <- time.Since(began)
		}), &service.Limits{})
		ask(t, dial())
		if took := <-ended; took > 31*time.Second {
			t.Errorf("an unread answer is kept for %s", took)
		}

		slow := dial()
		began := time.Now()
		ask(t, slow)
		response, err := http.ReadResponse(bufio.NewReaderSize(slow, 64<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		read, part := 0, make([]byte, 60<<10)
		for read < length {
			time.Sleep(10 * time.Second)
			n, err := io.ReadFull(response.Body, part[:min(len(part), length-read)])
			if read += n; err != nil {
				t.Fatalf("a slow reader got %d bytes: %v", read, err)
			}
		}
		if <-ended; time.Since(began) < 2*time.Minute {
			t.Error("the reader was not slow")
		}
	})
}

// TestIdleConnectionsAreClosedFirst: a caller that opens many connections loses its idle ones; no caller is kept out,
// and no call is cut off.
func TestIdleConnectionsAreClosedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l service.Limits
		if err := l.Set("server-connections=3"); err != nil {
			t.Fatal(err)
		}
		w := openInside(t, nil)
		dial := serve(t, w.api, &l)
		call := func(c net.Conn, path string) {
			request := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adminToken +
				"\r\n\r\n"
			if _, err := io.WriteString(c, request); err != nil {
				t.Error(err)
			}
		}
		waiting := dial()
		call(waiting, "/api/whoami?minSeq=1000") // goes on for five seconds
		synctest.Wait()
		idle := dial()
		synctest.Wait()
		for range 5 {
			time.Sleep(time.Millisecond)
			dial()
			synctest.Wait()
		}
		now := time.Now()
		if _, err := idle.Read(make([]byte, 1)); err == nil || time.Since(now) > 0 {
			t.Errorf("the idle connection stays open for %s", time.Since(now))
		}
		newest := dial()
		call(newest, "/api/whoami")
		for c, want := range map[net.Conn]int{newest: 200, waiting: 504} {
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || response.StatusCode != want {
				t.Errorf("%v, %v; want %d", response, err, want)
			}
		}
	})
}

// TestOneProtocol: HTTP/2 without TLS would let one connection carry any number of calls.
func TestOneProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serve(t, http.NotFoundHandler(), &service.Limits{})
		c := dial()
		go func() { _, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }()
		answer := make([]byte, 12)
		if _, err := io.ReadFull(c, answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
			t.Errorf("it answers %q, %v", answer, err)
		}
	})
}

// A call that is refused before its body is read holds its connection no longer than a body may take, even if the rest
// of the body never arrives.
func TestRefusedBodyHoldsNoConnection(t *testing.T) {
	for _, request := range []string{
		"POST /nothing/here HTTP/1.1\r\nHost: localhost\r\n",
		"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\n",
		"POST /api/tasks HTTP/1.1\r\nHost: evil\r\n",
		"GET /readyz HTTP/1.1\r\nHost: localhost\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, nil)
			c := serve(t, w.api, &service.Limits{})()
			begun := time.Now()
			if _, err := io.WriteString(c, request+"Content-Length: 1000\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > 31*time.Second {
				t.Errorf("%q holds its connection for %s", request, took)
			}
		})
	}
}

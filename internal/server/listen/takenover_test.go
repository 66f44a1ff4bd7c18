package listen

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"maestro/api"
	"maestro/service"
)

// A server that stops waits for the handlers that took over their connections, such as those of WebSockets.
func TestStopWaitsForTakenOverConnections(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, terminate := context.WithCancel(t.Context())
	stopping, stop := context.WithCancel(t.Context())
	taken, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(done)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		close(taken)
		<-stopping.Done()
		<-release
	})
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	ended := make(chan error, 1)
	go func() { ended <- Until(ctx, api.Bound(listener, &service.Limits{}), handler, stop, logger) }()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-taken
	terminate()
	<-stopping.Done()
	// The listener is closed once the shutdown has begun; net/http alone would end at once then.
	for {
		probe, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended while a connection was served: %v", err)
	default:
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case <-done:
	default:
		t.Error("it ended before the handler")
	}
	if strings.Contains(logged.String(), "did not finish in time") {
		t.Error(logged.String())
	}
}

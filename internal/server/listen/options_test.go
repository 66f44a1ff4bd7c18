package listen

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"maestro/api"
	"maestro/service"
)

// OPTIONS * comes to the handler, which checks its Host, as every request does that net/http can read.
func TestOptionsComeToTheHandler(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, terminate := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	ended := make(chan error, 1)
	go func() {
		ended <- Until(ctx, api.Bound(listener, &service.Limits{}), handler, func() {}, slog.New(slog.DiscardHandler))
	}()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const said = "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, said); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("the answer is %v, %v", answer, err)
	}
	_ = answer.Body.Close()
	terminate()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

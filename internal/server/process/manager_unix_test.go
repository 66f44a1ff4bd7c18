//go:build unix

package process

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A service manager is told what happens. If it is gone, the log says so; a server without a service manager sends
// nothing.
func TestServiceManagerIsNotified(t *testing.T) {
	dir, err := os.MkdirTemp("", "sd") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	manager := ServiceManager{Socket: socket, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	manager.Ready("http://127.0.0.1:1")
	manager.Stopping()
	for _, want := range []string{
		"READY=1\nSTATUS=Listening on http://127.0.0.1:1",
		"STOPPING=1\nSTATUS=Stopping",
	} {
		text := make([]byte, 1024)
		if n, err := conn.Read(text); err != nil || string(text[:n]) != want {
			t.Errorf("the service manager was told %q, %v; want %q", text[:n], err, want)
		}
	}
	ServiceManager{Logger: manager.Logger}.Ready("nowhere")
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	manager.Stopping()
	if !strings.Contains(log.String(), "could not be told") || !strings.Contains(log.String(), socket) {
		t.Errorf("the log says %q", log.String())
	}
}

package socket

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketsOfAnyLength(t *testing.T) {
	for _, length := range []int{1, 200} {
		dir := filepath.Join(t.TempDir(), strings.Repeat("d", length))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "agent.sock")
		for range 2 { // the second replaces the socket of the first
			exchange(t, path)
		}
	}
}

func exchange(t *testing.T, path string) {
	t.Helper()
	listener, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode: %v, %v", info, err)
	}
	said := make(chan Peer, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			close(said)
			return
		}
		peer, _ := PeerOf(conn.(*net.UnixConn))
		_, _ = io.WriteString(conn, "hello")
		_ = conn.Close()
		said <- peer
	}()
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || string(text) != "hello" {
		t.Errorf("got %q, %v", text, err)
	}
	if peer := <-said; peer != (Peer{os.Getpid(), os.Geteuid()}) {
		t.Errorf("the peer is %+v", peer)
	}
}

func TestNoSocket(t *testing.T) {
	if _, err := Dial(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("connected to a socket that does not exist")
	}
	if _, err := Listen(t.Context(), filepath.Join(t.TempDir(), "none", strings.Repeat("s", 200))); err == nil {
		t.Error("listens in a directory that does not exist")
	}
}

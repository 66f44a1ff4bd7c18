package api

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"maestro/service"
)

// TestConnectionsFitTheOpenFiles: the quota of connections always leaves some of the process's open files, and a
// configured quota that cannot work is refused.
func TestConnectionsFitTheOpenFiles(t *testing.T) {
	for _, c := range []struct {
		set   string
		files uint64
		most  float64
		wrong string
	}{
		{"", 0, 4096, ""},
		{"", 1 << 63, 4096, ""},
		{"", 1 << 20, 4096, ""},
		{"", 5120, 4096, ""},
		{"", 5000, 3976, ""},
		{"", 1024, 512, ""},
		{"", 256, 128, ""},
		{"", 128, 64, ""},
		{"", 127, 0, "at least 128"},
		{"server-connections=128", 256, 128, ""},
		{"server-connections=3", 256, 3, ""},
		{"server-connections=129", 256, 0, "room for 128"},
		{"server-connections=0", 256, 0, "room for 128"},
		{"server-connections=0", 0, 0, ""},
		{"server-connections=10000", 1 << 20, 10_000, ""},
	} {
		var l service.Limits
		if c.set != "" {
			if err := l.Set(c.set); err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("%q with %d files", c.set, c.files)
		err := l.FitOpenFiles(c.files)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", name, err, c.wrong)
			}
			continue
		}
		q := l.Quota(service.ConnectionsQuota)
		if err != nil || q.Value != c.most {
			t.Errorf("%s: %v connections, %v; want %v", name, q.Value, err, c.most)
		}
		if lowered := strings.Contains(q.About, "open files"); lowered != (c.set == "" && c.most < 4096) {
			t.Errorf("%s: its description is %q", name, q.About)
		}
		if made := Bound(nil, &l).total; made != int(c.most) {
			t.Errorf("%s: the listener takes %d connections", name, made)
		}
	}
}

// fullAfter is a listener whose process runs out of files after some connections, until one of them is closed.
type fullAfter struct {
	made   chan net.Conn
	room   int
	closed chan struct{}
}

type countedConn struct {
	net.Conn
	of *fullAfter
}

func (c countedConn) Close() error { c.of.room++; return c.Conn.Close() }

func (f *fullAfter) Accept() (net.Conn, error) {
	if f.room == 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	select {
	case c := <-f.made:
		f.room--
		return countedConn{c, f}, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *fullAfter) Close() error   { close(f.closed); return nil }
func (f *fullAfter) Addr() net.Addr { return &net.TCPAddr{} }

// TestFileExhaustionClosesIdleConnections: if the process has no file for a connection although the quota has room, an
// idle connection is closed, and the next one is accepted.
func TestFileExhaustionClosesIdleConnections(t *testing.T) {
	full := &fullAfter{make(chan net.Conn, 3), 2, make(chan struct{})}
	listener := Bound(full, &service.Limits{})
	var ours []net.Conn
	for range 3 {
		mine, theirs := net.Pipe()
		ours = append(ours, mine)
		full.made <- theirs
	}
	for range 2 {
		if _, err := listener.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := listener.Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("accept gives %v", err)
	}
	last, err := listener.Accept()
	if err != nil {
		t.Fatalf("no connection gave way: %v", err)
	}
	if listener.everywhere.all != 2 {
		t.Errorf("%d connections are open", listener.everywhere.all)
	}
	_ = last.Close()
	for _, c := range ours {
		_ = c.Close()
	}
}

package demo

import (
	"context"
	"io"
	"net"
	"sync"
)

// link is the way over which one agent reaches the server, and which can be cut.
type link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

// lay lays a link to a server.
func lay(ctx context.Context, to string) (*link, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &link{listener: listener, to: to, conns: map[net.Conn]bool{}}
	w.all.Go(func() { w.accept(ctx) })
	return w, nil
}

func (w *link) address() string { return "http://" + w.listener.Addr().String() }

// set cuts the link, or mends it; what was on it is gone.
func (w *link) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for conn := range w.conns {
		_ = conn.Close()
	}
}

func (w *link) close() {
	_ = w.listener.Close()
	w.set(true)
	w.all.Wait()
}

func (w *link) accept(ctx context.Context) {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		if !w.hold(conn) {
			_ = conn.Close()
			continue
		}
		w.all.Go(func() { w.carry(ctx, conn) })
	}
}

// hold remembers a connection, so that a cut ends it; on a link that is cut there is none.
func (w *link) hold(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return false
	}
	w.conns[conn] = true
	return true
}

func (w *link) carry(ctx context.Context, near net.Conn) {
	far, err := new(net.Dialer).DialContext(ctx, "tcp", w.to)
	if err == nil && w.hold(far) {
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(near, far) // a broken link is what this is for
			_ = near.Close()
		}()
		_, _ = io.Copy(far, near)
		_ = far.Close()
		<-back
	}
	_ = near.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, near)
	if far != nil {
		delete(w.conns, far)
	}
}

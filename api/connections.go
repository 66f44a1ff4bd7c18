package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"time"

	"maestro/service"
)

const (
	// writeWithin is the time limit for the client to receive a part of an answer. It starts again for each part, so
	// that a slow reader gets everything, and a client that does not read is disconnected.
	writeWithin = 30 * time.Second
	// writePart is the size of such a part: less than 8 KiB/s does not count as reading.
	writePart = 64 << 10
	// sendBuffer bounds what the system buffers for a client that does not read; a reader at 8 KiB/s frees enough of it
	// in time.
	sendBuffer = 256 << 10
)

// Listener bounds the connections of a server: their number, and how long one that is not read from holds its answer.
// Configure the server with it before it serves.
type Listener struct {
	net.Listener
	total, each int

	mu sync.Mutex
	// everywhere are all connections, from those of each bounded address.
	everywhere *crowd
	from       map[netip.Addr]*crowd
	// lingers counts the connections that are closed for the server only.
	lingers int
}

// lingersMost bounds the connections that net/http keeps for half a second so that a client that is still sending reads
// its answer.
const lingersMost = 64

// Bound returns the listener with the limits for connections.
func Bound(listener net.Listener, limits *service.Limits) *Listener {
	return &Listener{
		Listener:   listener,
		total:      int(limits.Quota(service.ConnectionsQuota).Value),
		each:       int(limits.Quota("address-connections").Value),
		everywhere: newCrowd(),
		from:       map[netip.Addr]*crowd{},
	}
}

// connection is one of a Listener's.
type connection struct {
	net.Conn
	listener *Listener
	address  netip.Addr
	// secure is the same connection if it uses TLS, otherwise nil.
	secure *tls.Conn
	// holder is the owner of the connection. busy says that a call with a valid credential is being served, and idle
	// since when none is. The listener's mu guards them.
	holder holder
	busy   bool
	idle   time.Time
	// everywhere and here are its places among all connections, and among those of its address.
	everywhere, here place
	// closed and lingers say that it was closed, or for the server only. The listener's mu guards them too.
	closed, lingers bool
	// head is the request head that is being read. Reads are never concurrent.
	head head
	// ahead are received bytes that nobody has read yet, dropped says that later ones were dropped.
	ahead   []byte
	dropped bool
}

type connectionKey struct{}

// withTLS tells a request that it came by TLS: net/http does not see it below the listener's connection.
func withTLS(r *http.Request) {
	if on, ok := r.Context().Value(connectionKey{}).(*connection); ok && on.secure != nil && r.TLS == nil {
		state := on.secure.ConnectionState()
		r.TLS = &state
	}
}

// Configure makes a server report its connections to the listener. It permits only HTTP/1.1: one connection, one call
// at a time.
func (l *Listener) Configure(server *http.Server) {
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.MaxHeaderBytes = MaxHead
	server.ConnState = newHead
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
}

// Accept implements net.Listener. It lets the work at hand go first: net/http would take a flood of new connections
// from the system at once, and each step of the calls in progress would wait behind all of them.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if isOutOfFiles(err) {
			l.closeOne() // net/http retries after a moment
		}
		if err != nil {
			return nil, err
		}
		plain := accepted
		secure, _ := accepted.(*tls.Conn)
		if secure != nil {
			plain = secure.NetConn()
		}
		if tcp, ok := plain.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // a system that ignores it is bounded by its own buffer
		}
		c := &connection{Conn: accepted, listener: l, secure: secure}
		if remote, err := netip.ParseAddrPort(accepted.RemoteAddr().String()); err == nil {
			c.address = remote.Addr().Unmap()
		}
		c.holder = holder{credential: "address " + c.address.String(), project: "nobody", class: service.ClassAddress}
		if l.add(c) {
			runtime.Gosched()
			return c, nil
		}
		_ = accepted.Close()
	}
}

// add reports false if there is no room and all connections serve calls of admins.
func (l *Listener) add(c *connection) bool {
	l.mu.Lock()
	var tooMany *connection
	here := l.from[c.address]
	switch {
	case here != nil && here.all >= l.each:
		tooMany = here.leastDue()
	case l.total > 0 && l.everywhere.all >= l.total:
		tooMany = l.everywhere.leastDue()
	default:
		tooMany = c
	}
	if tooMany == nil {
		l.mu.Unlock()
		return false
	}
	if here == nil && l.each > 0 && c.address.IsValid() && !c.address.IsLoopback() {
		l.from[c.address] = newCrowd()
	}
	c.place()
	l.mu.Unlock()
	if tooMany != c {
		_ = tooMany.Close()
	}
	return true
}

// place puts a connection where it belongs, as the one that was used last. The caller holds the listener's mu.
func (c *connection) place() {
	c.idle = time.Now()
	if c.closed {
		return
	}
	c.listener.everywhere.put(&c.everywhere, c)
	if here := c.listener.from[c.address]; here != nil {
		here.put(&c.here, c)
	}
}

// closeOne makes room when the system has no more files for connections.
func (l *Listener) closeOne() {
	l.mu.Lock()
	least := l.everywhere.leastDue()
	l.mu.Unlock()
	if least != nil {
		_ = least.Close()
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}

// forget takes a connection out of the listener's books.
func (c *connection) forget() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	l.everywhere.remove(&c.everywhere)
	if here := l.from[c.address]; here != nil {
		if here.remove(&c.here); here.all == 0 {
			delete(l.from, c.address)
		}
	}
	if c.lingers {
		l.lingers--
	}
}

// CloseWrite lets net/http close a connection gracefully while the client is still sending. If too many linger like
// this, the connection is closed at once: the clients may be gone.
func (c *connection) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if c.linger() {
		return half.CloseWrite()
	}
	return c.Close()
}

// linger reports whether a connection may linger.
func (c *connection) linger() bool {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.closed && !c.lingers && l.lingers < lingersMost {
		c.lingers = true
		l.lingers++
	}
	return c.lingers
}

// Write implements net.Conn, with a time limit for each part.
func (c *connection) Write(b []byte) (n int, err error) {
	for {
		part := b[n:min(len(b), n+writePart)]
		if err := c.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(part)
		n += written
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// isOutOfFiles reports whether a call failed because the process, or the system, has too many open files.
func isOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

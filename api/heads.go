package api

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
)

// The head of a request costs net/http many times its length, and is parsed before the caller is known. So a connection
// counts the lines of a head while it reads them.

const (
	// MaxHead is the longest head of a request in bytes; net/http takes 4 KiB more.
	MaxHead = 12 << 10
	// headLines is the maximum number of lines of a head.
	headLines = 100
)

// errHead says that a head has too many lines.
var errHead = errors.New("the head of a request has too many lines")

// tooManyLines is the answer to a head with too many lines.
const tooManyLines = "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// head follows the head of a request through the reads that deliver it.
type head struct {
	lines int
	// ended says that its empty line was read; empty says that the current line is empty so far.
	ended, empty bool
}

// read parses received bytes. It reports false if there are too many lines.
func (h *head) read(b []byte) bool {
	if h.ended {
		return true
	}
	for _, c := range b {
		switch {
		case c == '\n' && h.empty && h.lines > 0:
			h.ended = true
			return true
		case c == '\n':
			h.lines++
			h.empty = true
		case c != '\r':
			h.empty = false
		}
	}
	return h.lines <= headLines
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.receive(b)
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) && plain.Conn != nil && isMethod(plain.RecordHeader) {
		_, _ = io.WriteString(plain.Conn, needsTLS)
	}
	if !c.head.read(b[:n]) {
		_, _ = io.WriteString(c.Conn, tooManyLines)
		return 0, errHead
	}
	return n, err
}

// needsTLS answers a client that speaks HTTP to a server with TLS.
const needsTLS = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2, HTTP/1.1\r\nConnection: Upgrade, close\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\n\r\nThe server speaks TLS: use https://\n"

// isMethod reports whether bytes begin a request of HTTP.
func isMethod(begin [5]byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"} {
		if string(begin[:]) == method {
			return true
		}
	}
	return false
}

// newHead makes a connection expect the head of a request once the call before it has ended.
func newHead(c net.Conn, state http.ConnState) {
	if ours, ok := c.(*connection); ok && state == http.StateIdle {
		ours.head = head{}
	}
}

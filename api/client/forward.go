package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"maestro/service/wire"
)

// notForwarded are the headers that belong to a connection, or to the credential of whoever sent the request.
var notForwarded = []string{
	"Authorization", "Connection", "Cookie", "Host", "Keep-Alive", "Origin", "Proxy-Authorization", "Proxy-Connection",
	"Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// Forward sends a request of another program with the Client's token, and returns the server's answer as it is. The
// caller closes its body. It fails as [Client.Do] does, but an answer of any status is no error, and nothing is
// retried.
func (c *Client) Forward(r *http.Request, body io.Reader) (*http.Response, error) {
	req, err := c.request(r.Context(), r.Method, r.URL.EscapedPath(), r.URL.Query(), body)
	if err != nil {
		return nil, err
	}
	version := r.Header.Get(wire.HeaderClient)
	token := req.Header.Get("Authorization")
	req.Header = r.Header.Clone()
	for _, name := range notForwarded {
		req.Header.Del(name)
	}
	req.Header.Set("Authorization", token)
	if version == "" {
		req.Header.Del(wire.HeaderClient) // an older client's answers have other shapes
	}
	return c.once(req, c.http.Do)
}

// NotNow reports whether the same call may succeed later: the server was not reached, is busy, or cannot take it now.
func NotNow(err error) bool {
	var said *Error
	var busy *BusyError
	switch {
	case errors.As(err, &busy):
		return true
	case errors.As(err, &said):
		return said.Status == http.StatusBadGateway || said.Status == http.StatusServiceUnavailable ||
			said.Status == http.StatusGatewayTimeout || said.Status == http.StatusTooManyRequests
	}
	return Unreached(err)
}

// ForGood reports whether the server that a call was for would repeat its refusal. A program that is not Maestro, a
// server that does not know the token, and one that wants another credential first leave that open.
func ForGood(err error) bool {
	var said *Error
	if !errors.As(err, &said) || said.Code == codeForeign || said.Unproven {
		return false
	}
	switch said.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return said.Status >= 400 && said.Status < 500
}

// Unreached reports whether there was no answer at all.
func Unreached(err error) bool {
	var connection *ConnectionError
	return errors.As(err, &connection) || errors.Is(err, context.DeadlineExceeded)
}

// WithSocket makes the Client connect to a unix socket, whatever the address says: an agent's supervisor listens there,
// and adds the token. dial opens the connection.
func WithSocket(dial func(ctx context.Context) (net.Conn, error)) Option {
	return func(c *Client) {
		if transport, ok := c.http.Transport.(*http.Transport); ok {
			transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
		}
	}
}

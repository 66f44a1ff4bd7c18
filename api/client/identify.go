package client

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"maestro/service/wire"
)

const (
	// identifiesWithin is the time limit for a program to identify itself.
	identifiesWithin = 10 * time.Second
	// maxIdentity is the longest identification, in bytes.
	maxIdentity = 64 << 10
	// readyFor is how long a connection may wait for its first call.
	readyFor = time.Second
)

// StrangerError says that the program at an address did not identify itself as Maestro. It received no token and no
// command.
type StrangerError struct{ Why string }

func (e *StrangerError) Error() string {
	return "the program there did not identify itself as Maestro (" + e.Why + "), and was sent nothing"
}

// BusyError says that the server does not identify itself at present. It received no token and no command.
type BusyError struct {
	// Err is its answer, of status 429 or 503.
	Err *Error
	// after is when to ask again, 0 if unknown.
	after time.Duration
}

func (e *BusyError) Error() string { return e.Err.Error() }

func (e *BusyError) Unwrap() error { return e.Err }

// busyOf returns an error if the answer is that of a Maestro server that is too busy to identify itself, nil for any
// other answer.
func busyOf(resp *http.Response) error {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return nil
	}
	resp.Body = io.NopCloser(io.LimitReader(resp.Body, maxIdentity))
	said := errorOf(resp)
	if said.Code == codeForeign {
		return &StrangerError{"it answered " + resp.Status}
	}
	return &BusyError{said, retryAfter(resp)}
}

// WithIdentification makes the server identify itself on each new connection before anything else is sent: as Maestro,
// and as a server that knows the Client's token. A call fails with a [ConnectionError] that wraps a [*StrangerError],
// or with an [*Error] of status 401, or with a [*BusyError] once the Client's patience is over.
func WithIdentification() Option {
	return func(c *Client) {
		transport, ok := c.http.Transport.(*http.Transport)
		if !ok {
			return // the caller's own transport knows whom it reaches
		}
		c.dial = c.dialer(transport.DialContext)
		transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			return c.connection(ctx, "http", address)
		}
		transport.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			return c.connection(ctx, "https", address)
		}
	}
}

// dialFunc opens a connection to the server at an address ("127.0.0.1:3000"), on which the server has identified
// itself.
type dialFunc func(ctx context.Context, scheme, address string) (net.Conn, error)

func (c *Client) dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) dialFunc {
	return func(ctx context.Context, scheme, address string) (net.Conn, error) {
		conn, err := dial(ctx, "tcp", address)
		if err != nil || scheme == "http" {
			return c.identified(ctx, conn, err)
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		secure := tls.Client(conn, c.tlsConfig(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return c.identified(ctx, secure, nil)
	}
}

// readyConn is a connection on which a server has identified itself, and that no call uses yet.
type readyConn struct {
	net.Conn
	scheme, address string
	since           time.Time
}

// connection returns the connection that Identify kept for a call, or a new one.
func (c *Client) connection(ctx context.Context, scheme, address string) (net.Conn, error) {
	if ready := c.ready.Swap(nil); ready != nil {
		if ready.scheme == scheme && ready.address == address && time.Since(ready.since) < readyFor {
			return ready.Conn, nil
		}
		_ = ready.Close()
	}
	return c.dial(ctx, scheme, address)
}

// Identify makes the server identify itself now, as WithIdentification does, on the connection of the next call. It
// fails as Do does.
func (c *Client) Identify(ctx context.Context) error {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, wire.IdentityPath, nil, nil)
	if err != nil {
		return err
	}
	req.Header.Del("Authorization")
	ask := c.http.Do
	if c.dial != nil {
		ask = c.connect
	}
	resp, err := c.sendBy(req, ask)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return errorOf(resp)
	}
	return nil
}

// connect opens a connection for the next call, and returns a response in the name of the identified server.
func (c *Client) connect(req *http.Request) (*http.Response, error) {
	address := req.URL.Host
	if req.URL.Port() == "" {
		port := "80"
		if req.URL.Scheme == "https" {
			port = "443"
		}
		address = net.JoinHostPort(req.URL.Hostname(), port)
	}
	conn, err := c.dial(req.Context(), req.URL.Scheme, address)
	if err != nil {
		return nil, err
	}
	if unused := c.ready.Swap(&readyConn{conn, req.URL.Scheme, address, time.Now()}); unused != nil {
		_ = unused.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// identified returns a connection on which the server has identified itself, and closes any other.
func (c *Client) identified(ctx context.Context, conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if err := c.identify(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c *Client) identify(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // it interrupts the exchange
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(identifiesWithin)); err != nil {
		return err
	}
	challenge, public := rand.Text(), wire.PublicPart(c.token)
	query := url.Values{"challenge": {challenge}}
	if public != "" {
		query.Set("credential", public)
		query.Set("holder", wire.Hold(c.token, challenge))
	}
	req, err := http.NewRequestWithContext(
		ctx, http.MethodGet, c.Base()+wire.IdentityPath+"?"+query.Encode(), nil,
	)
	if err != nil {
		return fmt.Errorf("the server's address: %w", err)
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		var network net.Error
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) {
			return err
		}
		return &StrangerError{"it does not speak HTTP"}
	}
	if busy := busyOf(resp); busy != nil {
		return busy
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxIdentity))
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	var said wire.Identity
	switch {
	case resp.StatusCode == http.StatusUpgradeRequired && strings.HasPrefix(resp.Header.Get("Upgrade"), "TLS/"):
		return ErrSpeaksTLS
	case resp.StatusCode != http.StatusOK:
		return &StrangerError{"it answered " + resp.Status}
	case json.Unmarshal(body, &said) != nil || said.Product != wire.Product:
		return &StrangerError{"its answer is not Maestro's"}
	case resp.Close:
		return io.EOF // it is stopping: this connection accepts no more
	case c.token == "":
	case public == "" || !hmac.Equal([]byte(said.Proof), []byte(wire.Prove(c.token, challenge))):
		return &Error{Status: http.StatusUnauthorized, Unproven: true, Problem: wire.Problem{
			Code:    wire.CodeUnauthenticated,
			Message: "The token is not one of this server's",
			Why:     "the Maestro server at " + c.Base() + " did not prove that it knows it, so it was not sent",
			Next:    "check the token, and the address of the server",
		}}
	}
	return conn.SetDeadline(time.Time{})
}

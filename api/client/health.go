package client

import (
	"context"
	"net/http"

	"maestro/service/wire"
)

// Ready asks whether the server accepts writes, and what an operator should know. It fails with *Error of status 503 if
// it does not accept them.
func (c *Client) Ready(ctx context.Context) (wire.Ready, error) {
	return now[wire.Ready](ctx, c, "/readyz")
}

// Identity asks what the server is. It proves nothing: see Identify.
func (c *Client) Identity(ctx context.Context) (wire.Identity, error) {
	return now[wire.Identity](ctx, c, wire.IdentityPath)
}

// now reads what is never of the past.
func now[T any](ctx context.Context, c *Client, path string) (view T, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return view, err
	}
	return view, c.decode(req, &view)
}

// Metrics returns the figures of the server, in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, "/metrics", nil, nil)
	if err != nil {
		return nil, err
	}
	_, text, err := c.answer(req)
	return text, err
}

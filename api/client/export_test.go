package client

import "net/http"

// WithTransport replaces how the Client reaches the server.
func WithTransport(transport http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = transport }
}

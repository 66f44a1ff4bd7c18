package client

import (
	"context"
	"net/http"
)

// Blob returns a long text that the log names by its digest.
func (c *Client) Blob(ctx context.Context, digest string) ([]byte, error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, pathTo("blobs", digest), nil, nil)
	if err != nil {
		return nil, err
	}
	_, text, err := c.answer(req)
	return text, err
}

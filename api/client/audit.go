package client

import (
	"context"
	"io"
	"net/url"
	"strconv"

	"maestro/service/wire"
)

// Head returns the log's head.
func (c *Client) Head(ctx context.Context) (wire.Head, error) {
	return read[wire.Head](ctx, c, "/api/audit/head", nil)
}

// Verify makes the server verify its whole log, without a time limit. from is SEQUENCE:HASH of a head that was stored
// elsewhere, or "".
func (c *Client) Verify(ctx context.Context, from string) (verdict wire.Verdict, err error) {
	query := url.Values{}
	if from != "" {
		query.Set("from", from)
	}
	return verdict, c.get(ctx, "/api/audit/verify", query, &verdict)
}

// Texts makes the server compare its long texts with their digests.
func (c *Client) Texts(ctx context.Context) (wire.Texts, error) {
	return read[wire.Texts](ctx, c, "/api/audit/texts", nil)
}

// Exported says what an export covers.
type Exported struct {
	// Project omits the bodies of other projects' events; "" for all bodies.
	Project string
	// To is the last event; 0 for the whole log, which a server with a damaged log refuses.
	To uint64
	// Texts adds the long texts that the events name.
	Texts bool
}

// Export streams the log, one line per event. The caller closes it.
func (c *Client) Export(ctx context.Context, of Exported) (io.ReadCloser, error) {
	query := url.Values{}
	if of.Project != "" {
		query.Set("project", of.Project)
	}
	if of.To > 0 {
		query.Set("to", strconv.FormatUint(of.To, 10))
	}
	if of.Texts {
		query.Set("texts", "true")
	}
	return c.stream(ctx, "/api/audit/export", query)
}

// Backup streams the log with its long texts. The caller closes it.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.stream(ctx, "/api/backup", nil)
}

// Denials lists the recorded refusals, oldest first.
func (c *Client) Denials(ctx context.Context, filter wire.DenialFilter) ([]wire.Denial, error) {
	return read[[]wire.Denial](ctx, c, "/api/audit/denials", queryOf(filter))
}

// Unauthenticated counts the calls without a valid credential.
func (c *Client) Unauthenticated(ctx context.Context) (wire.Unauthenticated, error) {
	return read[wire.Unauthenticated](ctx, c, "/api/audit/unauthenticated", nil)
}

// Limits lists the limits in effect.
func (c *Client) Limits(ctx context.Context) ([]wire.LimitView, error) {
	return read[[]wire.LimitView](ctx, c, "/api/audit/limits", nil)
}

// Can says whether an actor may use a command.
func (c *Client) Can(ctx context.Context, query wire.CanQuery) (wire.Can, error) {
	return read[wire.Can](ctx, c, "/api/audit/can", queryOf(query))
}

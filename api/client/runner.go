package client

import (
	"context"
	"time"

	"maestro/service/wire"
)

// Work returns what there is for a runner to do, once that is something else than before, or after a time that the
// server bounds.
func (c *Client) Work(ctx context.Context, of wire.RunnerWorkOf, wait time.Duration) (work wire.RunnerWork, err error) {
	if wait > 0 {
		of.Wait = wait.String()
	}
	ctx, cancel := c.patiently(ctx, wait)
	defer cancel()
	return work, c.get(ctx, pathTo("runners", of.Name, "work"), queryOf(of), &work)
}

// Runners lists the runners that have asked for work lately.
func (c *Client) Runners(ctx context.Context) (wire.Runners, error) {
	return read[wire.Runners](ctx, c, "/api/runners", nil)
}

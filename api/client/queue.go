package client

import (
	"context"

	"maestro/service/wire"
)

// Queues lists the queues that the caller may see.
func (c *Client) Queues(ctx context.Context, filter wire.QueueFilter) ([]wire.Queue, error) {
	return read[[]wire.Queue](ctx, c, "/api/queues", queryOf(filter))
}

// Queue returns a queue with its items.
func (c *Client) Queue(ctx context.Context, name wire.QueueName) (wire.QueueBody, error) {
	return read[wire.QueueBody](ctx, c, pathTo("queues", name.Name), queryOf(name))
}

// SessionQueue returns the queue that a session pulls from, with its items.
func (c *Client) SessionQueue(ctx context.Context, of wire.SessionQueueOf) (wire.SessionQueue, error) {
	return read[wire.SessionQueue](ctx, c, pathTo("sessions", of.ID, "queue"), queryOf(of))
}

// QueueTop returns the next item of a queue.
func (c *Client) QueueTop(ctx context.Context, name wire.QueueOf) (wire.QueueTop, error) {
	return read[wire.QueueTop](ctx, c, pathTo("queues", name.Name, "top"), queryOf(name))
}

// SessionQueueTop returns the next item of the queue that a session pulls from, and the item that it holds.
func (c *Client) SessionQueueTop(ctx context.Context, session string) (wire.QueueTop, error) {
	return read[wire.QueueTop](ctx, c, pathTo("sessions", session, "queue", "top"), nil)
}

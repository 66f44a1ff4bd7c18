package client

import (
	"context"
	"net/url"
	"time"

	"maestro/service/wire"
)

// Inputs lists the questions that the caller may see, in the order in which they were asked.
func (c *Client) Inputs(ctx context.Context, filter wire.InputFilter) ([]wire.Input, error) {
	return list[wire.Input](ctx, c, "/api/inputs", queryOf(filter))
}

// Input returns a question.
func (c *Client) Input(ctx context.Context, id string) (wire.Input, error) {
	return read[wire.Input](ctx, c, pathTo("inputs", id), nil)
}

// AwaitInput returns a question once it has an answer, or after a time that the server bounds.
func (c *Client) AwaitInput(ctx context.Context, id string, wait time.Duration) (question wire.Input, err error) {
	ctx, cancel := c.patiently(ctx, wait)
	defer cancel()
	return question, c.get(ctx, pathTo("inputs", id), url.Values{"wait": {wait.String()}}, &question)
}

// Inbox lists everything that needs a person, longest wait first or by urgency.
func (c *Client) Inbox(ctx context.Context, filter wire.InboxFilter) ([]wire.InboxItem, error) {
	return list[wire.InboxItem](ctx, c, "/api/inbox", queryOf(filter))
}

// InboxCount counts the things that need a person.
func (c *Client) InboxCount(ctx context.Context, filter wire.InboxCountFilter) (wire.InboxCount, error) {
	return read[wire.InboxCount](ctx, c, "/api/inbox/count", queryOf(filter))
}

// AwaitInbox is Inbox once it has an item, or after a time that the server bounds.
func (c *Client) AwaitInbox(
	ctx context.Context, filter wire.InboxFilter, wait time.Duration,
) (items []wire.InboxItem, err error) {
	if wait > 0 {
		filter.Wait = wait.String()
	}
	ctx, cancel := c.patiently(ctx, wait)
	defer cancel()
	return items, c.get(ctx, "/api/inbox", queryOf(filter), &items)
}

// Since reports what changed.
func (c *Client) Since(ctx context.Context, query wire.SinceQuery) (wire.Since, error) {
	return read[wire.Since](ctx, c, "/api/since", queryOf(query))
}

// Events returns events of the log.
func (c *Client) Events(ctx context.Context, query wire.EventsQuery) (wire.LogEvents, error) {
	return read[wire.LogEvents](ctx, c, "/api/events", queryOf(query))
}

// EventHistogram counts events of the log.
func (c *Client) EventHistogram(ctx context.Context, query wire.HistogramQuery) (wire.EventHistogram, error) {
	return read[wire.EventHistogram](ctx, c, "/api/events/histogram", queryOf(query))
}

// Why returns the causes of the present state of an object.
func (c *Client) Why(ctx context.Context, id string) (wire.Why, error) {
	return read[wire.Why](ctx, c, pathTo("why", id), nil)
}

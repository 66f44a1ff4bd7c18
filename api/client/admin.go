package client

import (
	"context"

	"maestro/service/wire"
)

// Tokens lists the named tokens; never a secret.
func (c *Client) Tokens(ctx context.Context) ([]wire.TokenView, error) {
	return read[[]wire.TokenView](ctx, c, "/api/tokens", nil)
}

// Clock compares the time of events with the server's wall clock.
func (c *Client) Clock(ctx context.Context) (wire.ClockStatus, error) {
	return read[wire.ClockStatus](ctx, c, "/api/clock", nil)
}

// ConfirmClock makes the server accept its wall clock as correct from now on.
func (c *Client) ConfirmClock(ctx context.Context) (wire.ConfirmedClock, error) {
	return post[wire.ConfirmedClock](ctx, c, "/api/clock/confirm", nil)
}

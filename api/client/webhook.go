package client

import (
	"context"

	"maestro/service/wire"
)

// Webhooks lists the webhooks, with how far their receivers are.
func (c *Client) Webhooks(ctx context.Context) ([]wire.Webhook, error) {
	return read[[]wire.Webhook](ctx, c, "/api/webhooks", nil)
}

// Webhook returns a webhook.
func (c *Client) Webhook(ctx context.Context, id string) (wire.Webhook, error) {
	return read[wire.Webhook](ctx, c, pathTo("webhooks", id), nil)
}

// WebhookSecret returns the secret with which a webhook signs.
func (c *Client) WebhookSecret(ctx context.Context, id string) (wire.WebhookSecret, error) {
	return read[wire.WebhookSecret](ctx, c, pathTo("webhooks", id, "secret"), nil)
}

// TestWebhook sends a test message to a webhook's receiver.
func (c *Client) TestWebhook(ctx context.Context, id string) (wire.WebhookTest, error) {
	return post[wire.WebhookTest](ctx, c, pathTo("webhooks", id, "test"), nil)
}

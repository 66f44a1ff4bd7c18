package client

import (
	"context"
	"encoding/json"
	"fmt"

	"maestro/service/wire"
)

// Templates lists the templates of prompts, the built-in ones first.
func (c *Client) Templates(ctx context.Context) ([]wire.Template, error) {
	return read[[]wire.Template](ctx, c, "/api/templates", nil)
}

// Template returns a template.
func (c *Client) Template(ctx context.Context, id string) (wire.Template, error) {
	return read[wire.Template](ctx, c, pathTo("templates", id), nil)
}

// StoreManifest stores a manifest on the server, for a spawn to name.
func (c *Client) StoreManifest(ctx context.Context, document []byte) (wire.StoredManifest, error) {
	return post[wire.StoredManifest](ctx, c, "/api/manifests", document)
}

// GenerateManifest generates a manifest of tasks, which the server does not store.
func (c *Client) GenerateManifest(ctx context.Context, of wire.NewManifest) (json.RawMessage, error) {
	document, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("the body of a manifest: %w", err)
	}
	return post[json.RawMessage](ctx, c, "/api/manifests/generate", document)
}

package client

import (
	"context"

	"maestro/service/wire"
)

// Skills lists the skills of the server's home, without their instructions.
func (c *Client) Skills(ctx context.Context) ([]wire.Skill, error) {
	return read[[]wire.Skill](ctx, c, "/api/skills", nil)
}

package engine

import (
	"context"

	"maestro/commands"
)

// RecordUse records the use of a token as the system. The same key is the same use.
func (h *Handler) RecordUse(ctx context.Context, use *commands.UseToken, key string) error {
	_, err := h.Do(ctx, Request{By: commands.System(), Command: use, Key: key})
	return err
}

package process

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestOnlyCanceled(t *testing.T) {
	wrapped := fmt.Errorf("open: %w", context.Canceled)
	other := errors.New("other")
	for err, want := range map[error]bool{
		wrapped:                                true,
		errors.Join(wrapped, context.Canceled): true,
		errors.Join(wrapped, other):            false,
		fmt.Errorf("%w: %w", other, wrapped):   false,
		other:                                  false,
		fmt.Errorf("x: %w", errors.Join(wrapped)):     true,
		fmt.Errorf("x: %w", context.DeadlineExceeded): false,
	} {
		if got := OnlyCanceled(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

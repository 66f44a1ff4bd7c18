package process

import (
	"context"
	"errors"
)

// OnlyCanceled reports whether an error says only that its context was canceled.
func OnlyCanceled(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // each one is examined
		for _, err := range all.Unwrap() {
			if !OnlyCanceled(err) {
				return false
			}
		}
		return true
	}
	if cause := errors.Unwrap(err); cause != nil {
		return OnlyCanceled(cause)
	}
	return errors.Is(err, context.Canceled)
}

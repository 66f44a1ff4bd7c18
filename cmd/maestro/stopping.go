package main

import (
	"context"
	"errors"
)

// onlyCanceled reports whether an error says nothing but that its context was canceled.
func onlyCanceled(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // each is looked at
		for _, err := range all.Unwrap() {
			if !onlyCanceled(err) {
				return false
			}
		}
		return true
	}
	if cause := errors.Unwrap(err); cause != nil {
		return onlyCanceled(cause)
	}
	return errors.Is(err, context.Canceled)
}

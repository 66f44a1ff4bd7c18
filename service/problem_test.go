package service

import (
	"context"
	"fmt"
	"testing"
)

// A caller that net/http considers gone may still wait for its answer while the server stops: it is told to ask again.
func TestCallIsRetriedAfterStop(t *testing.T) {
	s := newStage(t)
	stopping, stop := context.WithCancel(t.Context())
	s.Stopping = stopping
	cancelled := fmt.Errorf("append: %w", context.Canceled)
	if p := s.ProblemOf(nil, cancelled, CallName{}); p.Code != "CANCELLED" || p.Kind != KindUnavailable {
		t.Errorf("%+v", p)
	}
	stop()
	if p := s.ProblemOf(nil, cancelled, CallName{}); p.Code != CodeStopping || p.RetryAfter == 0 {
		t.Errorf("%+v", p)
	}
}

package process

import (
	"context"
	"testing"
)

// A task beside a server outlives the server's context, and has ended when stop returns.
func TestBesideEndsWhenItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began, ended := make(chan error), false
	stop := Beside(ctx, func(ctx context.Context) {
		began <- ctx.Err()
		<-ctx.Done()
		ended = true
	})
	if err := <-began; err != nil {
		t.Errorf("the task starts with %v", err)
	}
	stop()
	if !ended {
		t.Error("stop does not wait")
	}
}

package process

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A server that cannot stop is ended anyway, but not before it was told to stop and its time is over.
func TestStuckServerIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var ended atomic.Bool
		EndInTime(ctx, func() { ended.Store(true) })
		time.Sleep(time.Hour)
		stop()
		time.Sleep(endsWithin - time.Millisecond)
		synctest.Wait()
		if ended.Load() {
			t.Error("the server ends too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !ended.Load() {
			t.Error("the server does not end")
		}
	})
}

package process

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A server that cannot stop ends all the same, and not before it was told to, nor before its time is over.
func TestAServerThatCannotStopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var ended atomic.Bool
		EndInTime(ctx, func() { ended.Store(true) })
		time.Sleep(time.Hour)
		stop()
		time.Sleep(endsWithin - time.Millisecond)
		synctest.Wait()
		if ended.Load() {
			t.Error("it ends too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !ended.Load() {
			t.Error("it does not end")
		}
	})
}

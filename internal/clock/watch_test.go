package clock

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// The server's log reports once that the wall clock jumped, and once that it is right again.
func TestWatchReportsWrongClock(t *testing.T) {
	wall, boot := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Duration(0)
	c := New(func() time.Time { return wall }, func() time.Duration { return boot })
	var log bytes.Buffer
	w := &Watch{Clock: c, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, stop := context.WithCancel(t.Context())
	tick, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(tick)(ctx)
	}()
	look := func() { // the check of the first tick has ended when the second is received
		tick <- time.Time{}
		tick <- time.Time{}
	}
	look()
	if log.Len() > 0 {
		t.Errorf("before anything happens the log says %s", log.String())
	}
	stop()
	<-ended

	wall = wall.Add(3 * Tolerance)
	w.Run(nil)(ctx) // its context has ended, so it checks once
	if said := log.String(); strings.Count(said, "CLOCK: ") != 1 {
		t.Errorf("after the jump the log says %s", said)
	}
	w.look()
	if said := log.String(); strings.Count(said, "CLOCK: ") != 1 {
		t.Errorf("at the next check the log says %s", said)
	}
	wall = wall.Add(-3 * Tolerance)
	w.look()
	w.look()
	if said := log.String(); strings.Count(said, "agree") != 1 {
		t.Errorf("when the clock is right again the log says %s", said)
	}
}

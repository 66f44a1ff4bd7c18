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

// A second jump is logged too, and so is a clock that is behind the log after a jump.
func TestWatchReportsEveryJump(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	wall := begun
	c := New(func() time.Time { return wall }, func() time.Duration { return 0 })
	var log bytes.Buffer
	w := &Watch{Clock: c, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	w.look()
	c.Follow(begun.Add(Tolerance / 2))
	for i, moved := range []time.Duration{3 * Tolerance, 30 * Tolerance, -30 * Tolerance, 0, 3 * Tolerance} {
		wall = begun.Add(moved)
		w.look()
		w.look()
		if said := log.String(); strings.Count(said, "CLOCK: ") != i+1 {
			t.Fatalf("after %d changes, the last by %s, the log says %s", i+1, moved, said)
		}
	}
}

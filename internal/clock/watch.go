package clock

import (
	"context"
	"log/slog"
	"time"
)

// Look is how often a server checks whether the wall clock was set.
const Look = time.Second

// Watch logs when the wall clock becomes wrong, each time that it moves again, and when it is right again.
type Watch struct {
	Clock  *Clock
	Logger *slog.Logger

	// Owned by Run: whether the clock was wrong, and what was logged of it last.
	wrong  bool
	logged Status
}

// Run checks at every tick until its context ends, and once at the start.
func (w *Watch) Run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			w.look()
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (w *Watch) look() {
	status := w.Clock.Status()
	what, next := status.Explain()
	switch {
	case what != "" && (!w.wrong || w.movedAgain(status)):
		w.Logger.Error("CLOCK: "+what, "next", next)
		w.logged = status
	case what == "" && w.wrong:
		w.Logger.Info("the wall clock and the time of events agree")
	}
	w.wrong = what != ""
}

// movedAgain reports whether the clock is wrong in another way than was logged.
func (w *Watch) movedAgain(now Status) bool {
	return now.Jumped != w.logged.Jumped || now.Jumped && (now.Moved-w.logged.Moved).Abs() > Tolerance
}

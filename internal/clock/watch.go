package clock

import (
	"context"
	"log/slog"
	"time"
)

// Look is how often a server checks whether the wall clock was set.
const Look = time.Second

// Watch logs when the wall clock becomes wrong, and when it is right again.
type Watch struct {
	Clock  *Clock
	Logger *slog.Logger

	wrong bool // owned by Run
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
	what, next := w.Clock.Status().Explain()
	switch {
	case what != "" && !w.wrong:
		w.Logger.Error("CLOCK: "+what, "next", next)
	case what == "" && w.wrong:
		w.Logger.Info("the wall clock and the time of events agree")
	}
	w.wrong = what != ""
}

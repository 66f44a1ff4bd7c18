package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/clock"
	"maestro/service/wire"
)

// clockLook is how often a running server looks whether the wall clock was set.
const clockLook = time.Second

func (a *app) clockCommand() *cobra.Command {
	return group("clock", "The time that events get, and the machine's wall clock", a.clockShow(), a.clockConfirm())
}

func (a *app) clockShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the time of events beside the machine's wall clock", Args: takes(),
		RunE: running(func(ctx context.Context, _ []string) error {
			status, err := look(ctx, a, (*client.Client).Clock)
			if err != nil {
				return err
			}
			a.result(status, func() { a.printClock(status) })
			return nil
		}),
	}
}

func (a *app) clockConfirm() *cobra.Command {
	return &cobra.Command{
		Use: "confirm", Short: "Confirm the machine's wall clock after it was set, so that events follow it again", Args: takes(),
		Long: `A server does not follow a wall clock that moves by more than an hour while it runs: every later event would get a wrong
time, for good. Check the machine's clock first, then confirm it. The server's log records who did.`,
		RunE: running(func(ctx context.Context, _ []string) error {
			answer, err := look(ctx, a, (*client.Client).ConfirmClock)
			if err != nil {
				return err
			}
			a.result(answer, func() {
				if answer.Changed {
					a.print("Confirmed: events follow the wall clock again\n")
				} else {
					a.print("Nothing to confirm: events follow the wall clock\n")
				}
				a.printClock(answer.ClockStatus)
			})
			return nil
		}),
	}
}

func (a *app) printClock(s wire.ClockStatus) {
	a.print("  Events     %s\n", s.Time.UTC().Format(time.RFC3339))
	a.print("  Wall       %s\n", s.Wall.UTC().Format(time.RFC3339))
	if s.Warning != "" {
		a.print("  Warning    %s\n  Next       %s\n", s.Warning, s.Next)
	}
}

// wallClock shows the server's clock to the API.
type wallClock struct{ *clock.Clock }

// Status implements service.Clock.
func (c wallClock) Status() wire.ClockStatus { return clockStatus(c.Clock.Status()) }

// Confirm implements service.Clock.
func (c wallClock) Confirm() (wire.ClockStatus, bool) {
	_, changed := c.Clock.Confirm()
	return c.Status(), changed
}

func clockStatus(s clock.Status) wire.ClockStatus {
	what, next := s.Explain()
	return wire.ClockStatus{
		Time: s.Now, Wall: s.Wall, Jumped: s.Jumped, MovedMs: s.Moved.Milliseconds(), AheadMs: s.Ahead().Milliseconds(),
		Warning: what, Next: next,
	}
}

// clockWatch notes in the server's log when the wall clock goes wrong, and when it is right again.
type clockWatch struct {
	clock  *clock.Clock
	logger *slog.Logger
	wrong  bool
}

// run looks at every tick until its context ends, and once at the start.
func (w *clockWatch) run(tick <-chan time.Time) func(context.Context) {
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

func (w *clockWatch) look() {
	what, next := w.clock.Status().Explain()
	switch {
	case what != "" && !w.wrong:
		w.logger.Error("CLOCK: "+what, "next", next)
	case what == "" && w.wrong:
		w.logger.Info("the wall clock and the time of events agree")
	}
	w.wrong = what != ""
}

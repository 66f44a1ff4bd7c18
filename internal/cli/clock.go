package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/service/wire"
)

func newClock(a *Run) *cobra.Command {
	return a.group(
		"clock",
		"Show and confirm the clock that timestamps events",
		newClockShow(a),
		newClockConfirm(a),
	)
}

// clockShow is `maestro clock show`.
type clockShow struct {
	*Run
}

func newClockShow(a *Run) *cobra.Command {
	c := &clockShow{Run: a}
	return &cobra.Command{
		Use:   "show",
		Short: "Show the time of events and the machine's wall clock",
		Args:  Takes,
		RunE:  Running(c.run),
	}
}

func (c *clockShow) run(ctx context.Context, _ []string) error {
	status, err := Look(ctx, c.Run, (*client.Client).Clock)
	if err != nil {
		return err
	}
	c.Result(status, func() { showClock(c.Run, status) })
	return nil
}

// clockConfirm is `maestro clock confirm`.
type clockConfirm struct {
	*Run
}

func newClockConfirm(a *Run) *cobra.Command {
	c := &clockConfirm{Run: a}
	return &cobra.Command{
		Use:   "confirm",
		Short: "Confirm the machine's wall clock after it was set, so that events follow it again",
		Args:  Takes,
		Long: `Confirm that the machine's clock is right. A server does not follow a wall
clock that jumps by more than an hour while it runs, because every later event
would permanently get a wrong time. Check the machine's clock first, then
confirm it. The server's log records who confirmed it.`,
		RunE: Running(c.run),
	}
}

func (c *clockConfirm) run(ctx context.Context, _ []string) error {
	answer, err := Look(ctx, c.Run, (*client.Client).ConfirmClock)
	if err != nil {
		return err
	}
	c.Result(answer, func() {
		if answer.Changed {
			c.Print("Confirmed: events follow the wall clock again\n")
		} else {
			c.Print("Nothing to confirm: events follow the wall clock\n")
		}
		showClock(c.Run, answer.ClockStatus)
	})
	return nil
}

func showClock(a *Run, s wire.ClockStatus) {
	a.Print("  Events     %s\n", s.Time.UTC().Format(time.RFC3339))
	a.Print("  Wall       %s\n", s.Wall.UTC().Format(time.RFC3339))
	if s.Warning != "" {
		a.Print("  Warning    %s\n  Next       %s\n", s.Warning, s.Next)
	}
}

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/service/wire"
)

func (a *Run) clockCommand() *cobra.Command {
	return group("clock", "The time that events get, and the machine's wall clock", a.clockShow(), a.clockConfirm())
}

func (a *Run) clockShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the time of events beside the machine's wall clock", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			status, err := look(ctx, a, (*client.Client).Clock)
			if err != nil {
				return err
			}
			a.Result(status, func() { a.printClock(status) })
			return nil
		}),
	}
}

func (a *Run) clockConfirm() *cobra.Command {
	return &cobra.Command{
		Use: "confirm", Short: "Confirm the machine's wall clock after it was set, so that events follow it again", Args: Takes(),
		Long: `A server does not follow a wall clock that moves by more than an hour while it runs: every later event would get a wrong
time, for good. Check the machine's clock first, then confirm it. The server's log records who did.`,
		RunE: Running(func(ctx context.Context, _ []string) error {
			answer, err := look(ctx, a, (*client.Client).ConfirmClock)
			if err != nil {
				return err
			}
			a.Result(answer, func() {
				if answer.Changed {
					a.Print("Confirmed: events follow the wall clock again\n")
				} else {
					a.Print("Nothing to confirm: events follow the wall clock\n")
				}
				a.printClock(answer.ClockStatus)
			})
			return nil
		}),
	}
}

func (a *Run) printClock(s wire.ClockStatus) {
	a.Print("  Events     %s\n", s.Time.UTC().Format(time.RFC3339))
	a.Print("  Wall       %s\n", s.Wall.UTC().Format(time.RFC3339))
	if s.Warning != "" {
		a.Print("  Warning    %s\n  Next       %s\n", s.Warning, s.Next)
	}
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/service/wire"
)

func newRunner(a *Run) *cobra.Command {
	return a.group("runner", "The runners, which launch the agents of sessions", newRunnerList(a))
}

func newRunnerList(a *Run) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runners that asked for work lately",
		Args:  Takes,
		Long: `List the runners that asked for work in the last five minutes.

  RUNS         how many workers run now, and how many run at most; as many
               orchestrators may run beside them
  IN LINE      sessions that wait for a place, or until the runner comes back
  QUESTIONS    runs that do not start before you answer: see "maestro inbox"
  CONFINED BY  what the kernel offers there to confine an agent
  SEEN         when the runner said all this; it does so at least twice a minute`,
	}
	cmd.RunE = Running(func(ctx context.Context, _ []string) error {
		list, err := Look(ctx, a, (*client.Client).Runners)
		if err != nil {
			return err
		}
		List(a, list.Runners, "No runner asked for work lately: `maestro serve` has one, unless it has --no-runner",
			[]string{"NAME", "HOST", "RUNS", "IN LINE", "QUESTIONS", "CONFINED BY", "SEEN"},
			func(r wire.Runner) []string {
				layers := "nothing"
				if len(r.Layers) > 0 {
					layers = strings.Join(r.Layers, ", ")
				}
				return []string{
					r.Name,
					r.Host,
					fmt.Sprintf("runs %d of %s", r.Running, Many(r.Limit, "worker")),
					fmt.Sprintf("%d in line", r.Waiting),
					Many(r.Asking, "question"),
					"confined by " + layers,
					"seen " + a.When(r.SeenAt),
				}
			})
		return nil
	})
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return Tell(cmd, "runner:list")
}

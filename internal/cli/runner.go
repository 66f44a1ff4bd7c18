package cli

import (
	"context"
	"fmt"
	"strconv"
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
		Long: `List the runners: how many agents each runs, how many it runs at most, how many
sessions wait in line for it, and how many of its runs wait for your answer,
because a check before the launch failed.`,
	}
	cmd.RunE = Running(func(ctx context.Context, _ []string) error {
		list, err := Look(ctx, a, (*client.Client).Runners)
		if err != nil {
			return err
		}
		List(a, list.Runners, "No runner asked for work lately: `maestro serve` has one, unless it has --no-runner",
			[]string{"NAME", "HOST", "RUNS", "WAITING", "ASKING", "CONFINES WITH"}, func(r wire.Runner) []string {
				layers := "nothing"
				if len(r.Layers) > 0 {
					layers = strings.Join(r.Layers, ", ")
				}
				return []string{
					r.Name, r.Host, fmt.Sprintf("%d of %d", r.Running, r.Limit), strconv.Itoa(r.Waiting),
					strconv.Itoa(r.Asking), layers,
				}
			})
		return nil
	})
	a.ListFlags(cmd)
	a.WatchFlag(cmd)
	return Tell(cmd, "runner:list")
}

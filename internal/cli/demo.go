package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"maestro/examples"
	"maestro/internal/demo"
)

// demonstration is `maestro demo`.
type demonstration struct {
	*Run
	agent string
}

func newDemo(a *Run) *cobra.Command {
	c := &demonstration{Run: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job in a temporary home: a plan, four agents, a server that is killed",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().StringVar(&c.agent, "agent", "", "play one of its agents")
	if err := cmd.Flags().MarkHidden("agent"); err != nil {
		panic(err) // the flag is defined a line above
	}
	return cmd
}

func (c *demonstration) run(ctx context.Context, _ []string) error {
	return runDemo(ctx, c.Run, c.agent)
}

func runDemo(ctx context.Context, a *Run, agent string) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	if agent != "" {
		env := make([]string, 0, len(a.Env))
		for name, value := range a.Env {
			env = append(env, name+"="+value)
		}
		return demo.Agent(ctx, binary, agent, env, a.Stdout)
	}
	return demo.Run(ctx, demo.Options{Binary: binary, Plan: examples.Plan, Out: a.Stdout})
}

package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"maestro/examples"
	"maestro/internal/demo"
)

func (a *Run) demoCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the main job in a temporary home: a plan, four agents, a server that is killed", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error { return a.demo(ctx, agent) }),
	}
	cmd.Flags().StringVar(&agent, "agent", "", "play one of its agents")
	if err := cmd.Flags().MarkHidden("agent"); err != nil {
		panic(err) // the flag is defined a line above
	}
	return cmd
}

func (a *Run) demo(ctx context.Context, agent string) error {
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

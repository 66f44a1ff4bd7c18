package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"maestro/examples"
	"maestro/internal/demo"
)

// demoLease is how long the sessions of the demonstration may be silent.
const demoLease = 5 * time.Second

// demonstration is `maestro demo`.
type demonstration struct {
	*Run
	play bool
}

func newDemo(a *Run) *cobra.Command {
	c := &demonstration{Run: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a demonstration in a temporary home: twelve workers, three of them and the server killed",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().BoolVar(&c.play, "play", false, "play one of its agents")
	if err := cmd.Flags().MarkHidden("play"); err != nil {
		panic(err) // the flag is defined a line above
	}
	return cmd
}

func (c *demonstration) run(ctx context.Context, _ []string) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	if c.play {
		return demo.Agent(ctx, binary, c.Stdout)
	}
	if err := c.NoOwnServerBySession("runs no demonstration"); err != nil {
		return err
	}
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE) // it would end only this process, and leave a server behind
	defer signal.Stop(unread)
	dir, err := os.MkdirTemp("", "maestro-demo-")
	if err != nil {
		return err
	}
	out := c.Stdout
	if c.JSON {
		out = c.Stderr
	}
	if _, err = demo.Run(ctx, demo.Options{
		Binary: binary,
		Plan:   examples.Plan,
		Dir:    dir,
		Lease:  demoLease,
		Out:    out,
	}); err != nil {
		return err
	}
	c.Result(struct{}{}, func() {})
	return nil
}

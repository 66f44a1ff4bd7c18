package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api"
	"maestro/api/client"
	"maestro/bus"
	"maestro/engine"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/measure/benchmark"
	"maestro/internal/server/process"
	"maestro/service"
	"maestro/service/wire"
)

// options are the flags of `maestro bench`.
type options struct {
	dir    string
	rounds int
	size   int
}

// New returns `maestro bench`.
func New(a *cli.Run) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure Maestro on this machine, against the software below it",
		Args:  cli.Takes,
		Long: `Compare the product with JetStream, net/http and the operating system without
it: in the same run, on the same disk, taking turns. Every figure is a ratio.
The exit code is 1 if a figure misses its goal. One figure needs the Go command,
which builds the empty program that a whole command is compared with; without Go
it is left out.`,
		RunE: cli.Running(func(ctx context.Context, _ []string) error { return bench(ctx, a, o) }),
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "a directory on the disk to measure; the current one if absent")
	cmd.Flags().IntVar(&o.rounds, "rounds", 5, "how often product and baseline take turns")
	cmd.Flags().IntVar(&o.size, "size", 0,
		"measure instead what a log of so many events costs: memory, start, snapshots, reads of the past; "+
			"1000000 takes some minutes")
	return cmd
}

func bench(ctx context.Context, a *cli.Run, o options) (err error) {
	if err := a.NoOwnServerBySession("runs no benchmark"); err != nil {
		return err
	}
	if o.rounds < 1 || o.rounds > 1000 {
		return failure.Usage("--rounds is a number from 1 to 1000, not %d", o.rounds)
	}
	if o.size < 0 || o.size > 100_000_000 {
		return failure.Usage("--size is a number of events up to 100,000,000, not %d", o.size)
	}
	if o.dir == "" {
		o.dir = "."
	}
	dir, err := os.MkdirTemp(o.dir, "maestro-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	progress := a.Stdout
	if a.JSON {
		progress = a.Stderr
	}
	checks, err := benchmark.Run(ctx, benchmark.Options{
		Dir:      dir,
		Rounds:   o.rounds,
		Binary:   binary,
		API:      wholeAPI,
		Admin:    "Bearer " + adminToken,
		Progress: progress,
		Size:     o.size,
	})
	if err != nil {
		return err
	}
	return report(a, checks)
}

// report prints the figures, as JSON if requested, and fails when one misses its goal.
func report(a *cli.Run, checks []benchmark.Check) error {
	if a.JSON {
		a.WriteJSON(struct {
			Checks []benchmark.Check `json:"checks"`
		}{checks})
	}
	var missed []string
	for _, check := range checks {
		if !check.OK {
			missed = append(missed, check.Name)
		}
	}
	if len(missed) > 0 {
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "MISSED",
			Message: "Missed: " + strings.Join(missed, ", "),
			Shown:   a.JSON, // the checks show it
		}
	}
	return nil
}

// wholeAPI returns the server's whole HTTP stack over a handler.
// adminToken is the user's token while the benchmark runs.
const adminToken = "bench"

func wholeAPI(
	h *engine.Handler, b *bus.Bus, _, session string,
) (handler http.Handler, beside func(context.Context), authorization string, err error) {
	keys := service.Keys{AdminToken: []byte(adminToken), ServerKey: []byte("bench")}
	var limits service.Limits
	for _, name := range []string{
		"session-commands", "session-bytes", "session-parallel", "project-commands",
		"project-bytes",
	} {
		if err := limits.Set(name + "=0"); err != nil { // one session sends more than its limits allow
			return nil, nil, "", err
		}
	}
	served, err := service.New(service.Config{
		Handler:  h,
		Log:      b,
		Blobs:    b,
		Keys:     keys,
		Limits:   limits,
		Hostname: process.Hostname(),
		Platform: runtime.GOOS,
	})
	if err != nil {
		return nil, nil, "", err
	}
	handler, err = api.New(api.Config{Service: served, Version: cli.Version()})
	authorization = "Bearer " + service.SessionToken(keys.ServerKey, session, service.FirstGeneration)
	return handler, served.Views.Run, authorization, err
}

// Baseline runs the benchmark's baseline in place of a command; it reports false for any other arguments.
func Baseline(args []string) (code int, ok bool) {
	if len(args) != 1 {
		return 0, false
	}
	switch args[0] {
	case benchmark.EmptyRun:
		return 0, true
	case benchmark.HTTPClients:
		if err := benchmark.Clients(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	case benchmark.OneHTTPCall:
		c := client.New(os.Getenv(wire.EnvAPIURL), os.Getenv(wire.EnvToken))
		defer c.Close()
		if _, err := c.Do(context.Background(), "report:progress", map[string]string{"message": "one call"},
			client.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

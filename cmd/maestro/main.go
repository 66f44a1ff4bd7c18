package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"maestro/internal/cli"
	"maestro/internal/cli/doctor"
	"maestro/internal/cli/offline"
	"maestro/internal/measure/command"
	"maestro/internal/server/process"
	"maestro/service/wire"
	"maestro/workers/confine"
	"maestro/workers/hook"
	"maestro/workers/supervisor"
)

func main() {
	if code, ok := command.Baseline(os.Args[1:]); ok {
		os.Exit(code)
	}
	if code, ok := ofAgents(os.Args[1:]); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings(os.Args[1:])...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if serves(os.Args[1:]) {
		process.EndInTime(ctx, func() {
			fmt.Fprintln(os.Stderr, "maestro: the server did not stop in time: a file or the disk is not responding")
			os.Exit(1)
		})
	}
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// ofAgents runs the programs of which an agent's processes consist. People do not call them, so they are no commands.
func ofAgents(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case wire.ProgramHook:
		return hook.Main(context.Background(), args[1:], os.Stdin, os.Stdout, os.Stderr), true
	case wire.ProgramConfined:
		code, err := confine.Exec()
		if err != nil {
			fmt.Fprintln(os.Stderr, "maestro:", err)
		}
		return code, true
	case wire.ProgramSupervisor:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return supervisor.Main(ctx, os.Stdin, os.Stderr), true
	}
	return 0, false
}

// more are the commands that run the server, measure it, and read its files.
var more = []cli.Noun{
	{Name: "serve", New: serveCommand},
	{Name: "bench", New: command.New},
	{Name: "doctor", New: doctor.New},
	{Name: "audit", New: offline.NewAudit},
	{Name: "backup", New: offline.NewBackup},
	{Name: "restore", New: offline.NewRestore},
	{Name: "import", New: offline.NewImport},
	{Name: "salvage", New: offline.NewSalvage},
}

// run is the whole program except for the process around it. It returns the exit code.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Main(ctx, args, env, stdin, stdout, stderr, more...)
}

// endings are the signals that ask the process to clean up and end. A hang-up that the caller ignores, as nohup does,
// stays ignored, and a server continues after one.
func endings(args []string) []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !serves(args) && !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// serves reports whether a command line runs `maestro serve`.
func serves(args []string) bool {
	if !slices.Contains(args, "serve") {
		return false
	}
	called, _, err := cli.Called(args, more...)
	return err == nil && called.Name() == "serve"
}

package benchmark

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"time"

	"maestro/bus"
)

// If the binary's only argument is one of these, it does nothing, or makes one HTTP call configured by the environment.
// These are the baselines of the command line: the same packages are linked, but not used.
const (
	EmptyRun    = "bench-empty-run"
	OneHTTPCall = "bench-one-http-call"
)

// commandLine measures the binary as a process.
func commandLine(ctx context.Context, o Options, report func(Check)) (err error) {
	if o.Binary == "" {
		return nil
	}
	figures, err := turns(5*o.Rounds, process(ctx, o.Binary, nil, "version"), process(ctx, o.Binary, nil, EmptyRun))
	if err != nil {
		return err
	}
	report(atMost("cli_version", 1.5, figures[0], figures[1], "µs", "an empty program with the same packages"))

	b, err := newBench(ctx, o, "cli", bus.Interval)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	server, authorization, err := b.serve(o)
	if err != nil {
		return err
	}
	defer server.close()
	env := []string{
		"HOME=" + o.Dir, "MAESTRO_HOME=" + o.Dir, "MAESTRO_API_URL=" +
			server.url[:len(server.url)-len("/api/commands/report:progress")],
		"MAESTRO_TOKEN=" + authorization[len("Bearer "):], "MAESTRO_SESSION_ID=" + b.worker.Name,
		"MAESTRO_PROJECT_ID=" + b.worker.Project,
	}
	runs := 0
	reported := func() (float64, error) {
		runs++
		return process(ctx, o.Binary, env, "report", "progress", message, "--task", b.task, "--key",
			"cli-"+strconv.Itoa(runs))()
	}
	if figures, err = turns(5*o.Rounds, reported, process(ctx, o.Binary, env, OneHTTPCall)); err != nil {
		return err
	}
	report(atMost("cli_report", 1.5, figures[0], figures[1], "µs", "the same program with one HTTP call"))
	return wholeProcess(ctx, o, reported, report)
}

// process runs the binary once and returns how long it took.
func process(ctx context.Context, binary string, env []string, args ...string) sample {
	return func() (float64, error) {
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env = env
		begin := time.Now()
		output, err := cmd.CombinedOutput()
		took := time.Since(begin)
		if err != nil {
			return 0, errors.Join(err, errors.New(string(output)))
		}
		return microseconds(1, took, nil)
	}
}

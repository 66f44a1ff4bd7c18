package benchmark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"maestro/internal/safetext"
)

// buildWithin is the time limit for building the empty program: the Go command may have to compile its runtime first.
const buildWithin = 5 * time.Minute

// noGoError says why there is no empty program to compare with.
type noGoError struct{ why string }

func (e *noGoError) Error() string { return e.why }

// emptyProgram builds a Go program that does nothing and returns its path and the version of Go. The binary cannot be
// its own baseline, because it initialises all its packages before it does nothing, and no program that every machine
// has is written in Go. So the Go command of the machine builds it; without one, emptyProgram fails with a *noGoError.
func emptyProgram(ctx context.Context, dir string) (program, version string, err error) {
	command, err := exec.LookPath("go")
	if err != nil {
		return "", "", &noGoError{"it needs the Go command, to build the empty program"}
	}
	if dir, err = os.MkdirTemp(dir, "empty"); err != nil {
		return "", "", err
	}
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, buildWithin)
	defer cancel()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, command, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
		output, err := cmd.CombinedOutput()
		if err != nil {
			said := strings.TrimSpace(string(output))
			return "", &noGoError{fmt.Sprintf("`go %s` failed: %s: %s", safetext.Quoted(args[0]), err, said)}
		}
		return strings.TrimSpace(string(output)), nil
	}
	program = filepath.Join(dir, "empty.exe") // Windows needs the ending, and no other system minds it
	if _, err := run("build", "-o", program, source); err != nil {
		return "", "", err
	}
	version, err = run("env", "GOVERSION")
	return program, version, err
}

// wholeProcess compares a command, as a process from its start to its end, with an empty Go program.
func wholeProcess(ctx context.Context, o Options, command sample, report func(Check)) error {
	const name = "cli_report_whole"
	program, version, err := emptyProgram(ctx, o.Dir)
	if left := (*noGoError)(nil); errors.As(err, &left) && ctx.Err() == nil {
		fmt.Fprintf(o.Progress, "%-24s left out: %s\n", name, left.why)
		return nil
	}
	if err != nil {
		return err
	}
	figures, err := turns(10*o.Rounds, command, process(ctx, program, nil))
	if err != nil {
		return err
	}
	report(atMost(name, 3, figures[0], figures[1], "µs", "an empty Go program ("+version+"), from start to end"))
	return nil
}

package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/preflight"
)

// probeTool is the tool of a call that no agent makes: the hook has to deny it.
const probeTool = "MaestroProbe"

// probePayload is what a CLI would say about such a call.
const probePayload = `{"hook_event_name":"PreToolUse","tool_name":"` + probeTool +
	`","tool_input":{},"tool_use_id":"probe","cwd":"/"}`

// ProbeHook checks, without a session, that a maestro program works as the hook of agents on this machine: that it
// denies a probe. It uses a socket of its own, in a temporary directory. It fails with a *preflight.Failure.
func ProbeHook(ctx context.Context, program string) (err error) {
	dir, err := os.MkdirTemp("", "maestro-probe-")
	if err != nil {
		return unprobed(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &supervisor{logger: slog.New(slog.DiscardHandler)}
	serving, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	if err := s.listen(serving, &group, filepath.Join(dir, socketFile), &gate{
		hook:   (&judge{}).serve, // which denies a probe before it judges anything
		heard:  func() {},
		ended:  func(error) {},
		logger: s.logger,
	}); err != nil {
		return unprobed(err)
	}
	return s.probeHook(ctx, []string{program, wire.ProgramHook, "--socket", s.socket})
}

// unprobed is the failure of a probe that could not be made.
func unprobed(err error) error {
	return &preflight.Failure{
		Check:   preflight.CheckHook,
		Path:    os.TempDir(),
		Message: fmt.Sprintf("Whether the hook denies a call cannot be tried in %s: %v", os.TempDir(), err),
		Fix:     "make this directory writable, or name another one with TMPDIR",
		Err:     err,
	}
}

// probeHook runs the hook as an agent's program would, and fails unless it denies a call: the programs let a call run
// if their hook does not work.
func (s *supervisor) probeHook(ctx context.Context, line []string) error {
	ctx, cancel := context.WithTimeout(ctx, agent.LineWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin = strings.NewReader(probePayload)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := s.children.Run(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == agent.ExitDenied && strings.Contains(said.String(), "probe") {
		return nil
	}
	why := "it allowed a call that it must deny"
	if err != nil {
		why = err.Error()
	}
	if text := safetext.OneLine(said.String()); text != "" {
		why += ": " + short(text)
	}
	return &preflight.Failure{
		Check:   preflight.CheckHook,
		Path:    line[0],
		Message: "The hook that decides about the agent's tool calls does not work: " + why,
		Fix:     "check that this program can be run: " + safetext.Line(line[0], "version"),
		Err:     err,
	}
}

package supervisor

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"maestro/workers/agent"
	"maestro/workers/preflight"
)

const (
	// probeTool is the tool of a call that no agent makes: the hook has to deny it.
	probeTool = "MaestroProbe"
	// probeWithin is how long the hook may take for it.
	probeWithin = 10 * time.Second
)

// probePayload is what a CLI would say about such a call.
const probePayload = `{"hook_event_name":"PreToolUse","tool_name":"` + probeTool +
	`","tool_input":{},"tool_use_id":"probe","cwd":"/"}`

// probeHook runs the hook as an agent's program would, and fails unless it denies a call: the programs let a call run
// if their hook does not work.
func (s *supervisor) probeHook(ctx context.Context, line []string) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
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
	return &preflight.Failure{
		Check:   preflight.CheckHook,
		Path:    line[0],
		Message: "The hook that decides about the agent's tool calls does not work: " + why,
		Fix:     "check that this program can be run: " + line[0] + " version",
		Err:     err,
	}
}

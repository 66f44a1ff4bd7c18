package supervisor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"

	"maestro/internal/home"
	"maestro/workers/agent"
	"maestro/workers/preflight"
)

// Main is the program `maestro agent-run`: it supervises the run that stdin describes, and returns the exit code. ctx
// ends when the process is told to stop.
func Main(ctx context.Context, stdin io.Reader, stderr io.Writer) int {
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	c, err := ReadConfig(stdin)
	if err == nil {
		err = Run(ctx, c, Drivers(c.Home), nil, logger)
	}
	switch {
	case errors.Is(err, home.ErrSupervised), errors.Is(err, ErrRan), errors.Is(err, ErrUnknown):
		logger.Info("another supervisor has or had the run", "session", c.SessionID, "run", c.Run, "why", err)
		return 0
	case err != nil:
		logger.Error("the run ended with an error", "session", c.SessionID, "run", c.Run, "why", err)
		return 1
	}
	return 0
}

// Drivers returns the function that finds the driver of an agent: by the configuration in the home, which is read each
// time.
func Drivers(dir string) func(name string) (agent.Driver, error) {
	return func(name string) (agent.Driver, error) {
		c, err := LoadAgents(dir)
		if err != nil {
			return nil, err
		}
		return c.Driver(name)
	}
}

// LoadAgents reads how agents are run on this machine, from agents.json of a home. Without the file, the known agents
// are run as they are installed.
func LoadAgents(dir string) (agent.Config, error) {
	h, err := home.Open(dir)
	if err != nil {
		return agent.Config{}, err
	}
	defer func() { _ = h.Close() }()
	return AgentsOf(h)
}

// AgentsOf is LoadAgents for a home that is open.
func AgentsOf(h *home.Home) (agent.Config, error) {
	content, err := h.Agents()
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Config{}, nil
	}
	if err != nil {
		return agent.Config{}, err
	}
	return agent.ParseConfig(h.AgentsPath(), content)
}

// undriven is the failure of a run whose agent cannot be launched on this machine.
func undriven(name string, err error) *preflight.Failure {
	failed := &preflight.Failure{
		Check:   preflight.CheckAgent,
		Message: "Agent " + name + " cannot be launched on this machine: " + err.Error(),
		Fix:     "configure it in agents.json of the home, or spawn the session with another --agent",
		Err:     err,
	}
	var fault *agent.ConfigError
	if errors.As(err, &fault) {
		failed.Path = fault.File
	}
	if _, fix := FaultOfAgents(err); fix != "" {
		failed.Fix = fix
	}
	return failed
}

// FaultOfAgents says why agents.json of a home cannot be used, and what to do, by the error of [LoadAgents]. What to do
// may be "".
func FaultOfAgents(err error) (why, fix string) {
	var fault *agent.ConfigError
	var problem *home.Problem
	switch {
	case errors.As(err, &fault):
		return fault.Error(), fault.Fix
	case errors.As(err, &problem):
		if why = problem.What; problem.Why != "" {
			why += ": " + problem.Why
		}
		return why, problem.Next
	}
	return err.Error(), ""
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
	"maestro/workers/supervisor"
)

// mayLaunch reports whether init launches the agent of a session, and does not only print its prompts: somebody runs it
// by hand in a terminal.
func (o *initOptions) mayLaunch(a *Run) bool {
	return o.launch || !o.printed && !a.JSON && !a.dryRun && a.terminal()
}

// hasRun reports whether a runner has the session.
func hasRun(x wire.Session) bool { return x.Run != nil && x.Run.ExitedAt == nil && !x.Run.Resumed }

// launchHere claims the session of this process for the runner in a terminal, and runs its agent until it ends.
func launchHere(ctx context.Context, a *Run, x wire.Session, m *manifest.Manifest, o initOptions) error {
	if a.throughSocket() {
		return insideBoundary(x, o)
	}
	a.waiting, a.nextFor = nil, nil // the reader is whoever launches the agent, and not the session
	if hasFailed(x) {
		f := hasStopped(x)
		f.Status, f.Code = http.StatusForbidden, failure.NotAllowed
		return f
	}
	if runtime.GOOS != "linux" {
		return failure.Usage("Agents are launched on Linux only").
			WithNext("--print prints its prompts; `maestro session exec %s -- <command>` runs what you start", x.ID)
	}
	server, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	speaks, err := server.RunnerCredential(ctx, x.ID)
	if err != nil {
		return err
	}
	own, err := server.Credential(ctx, x.ID)
	if err != nil {
		return err
	}
	c, err := superviseConfig(ctx, a, server.Base(), own)
	if err != nil {
		return err
	}
	c.FixPermissions, c.GitConfig = o.fix, o.git
	network, _, err := confine.ParseNetwork(m.Session.Network)
	if err != nil {
		return failure.Usage("The network of the session's manifest: %s", err)
	}
	if c.Layers = layersHere(ctx, c, confine.Policy{Network: network}); len(c.Layers) == 0 {
		a.Say("maestro: warning: the agent is not confined: it can do whatever you can\n")
	}
	c.Runner, c.Run, c.RunnerToken = wire.TerminalRunner, 1, speaks.Token
	if x.Run != nil {
		c.Run, c.Resumes, c.Conversation = x.Run.Number+1, true, x.Run.Conversation
	}
	if c.Directory, err = filepath.Abs("."); err != nil {
		return err
	}
	asRunner, err := a.clientOf(server, speaks.Token)
	if err != nil {
		return err
	}
	defer asRunner.Close()
	claimed := false
	c.Claim = func(ctx context.Context) error {
		answer, err := asRunner.Do(ctx, "session:claim", &commands.ClaimSession{
			SessionID: x.ID,
			Run:       c.Run,
			Host:      hostname(),
			Agent:     supervisor.AgentOf(x.Agent, m),
			Layers:    c.Layers,
		}, client.Options{})
		if err != nil {
			return err
		}
		if answer.Event == nil { // another terminal of this machine was faster
			return hasAgent(x.ID, wire.TerminalRunner)
		}
		claimed, a.answered, a.waiting = true, true, nil // from now on stdout shows the agent, which gets the mail
		return nil
	}
	screen := &agentScreen{run: a}
	logger := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	err = supervisor.Run(ctx, c, supervisor.Drivers(c.Home), screen, logger)
	var fault *preflight.Failure
	switch {
	case errors.Is(err, home.ErrSupervised), errors.Is(err, supervisor.ErrRan):
		return hasAgent(x.ID, wire.TerminalRunner)
	case errors.As(err, &fault):
		return notLaunched(x.ID, fault)
	case err != nil && !claimed:
		return err
	case err != nil:
		exit := supervisor.Exit{Reason: "its supervisor ended with an error: " + err.Error()}
		_, told := asRunner.Do(context.WithoutCancel(ctx), "session:exited", exit.Command(x.ID, c.Run),
			client.Options{Key: supervisor.ExitKey(x.ID, c.Run)})
		return errors.Join(err, told)
	}
	return outcomeHere(ctx, server, x.ID)
}

// hasAgent is the error for a session whose agent somebody else has launched.
func hasAgent(session, runner string) error {
	return &failure.Error{
		Status:  http.StatusConflict,
		Code:    "HAS_AGENT",
		Message: fmt.Sprintf("Session '%s' already has an agent, which runner %s launched", session, runner),
		Next:    "follow it with `maestro session logs " + session + " --follow`; --print only prints its prompts",
	}
}

// notLaunched is the error for a session whose agent cannot be launched here as things are. Nothing was claimed, so the
// session still waits for its agent.
func notLaunched(session string, fault *preflight.Failure) error {
	return &failure.Error{
		Code:    "NOT_LAUNCHED",
		Message: "The agent was not launched: " + fault.Message,
		Why:     "the checks before its launch failed; session '" + session + "' still waits for its agent",
		Next:    fault.Fix + "; then run the same command again",
	}
}

// insideBoundary is the error for a launch by a process that the kernel confines.
func insideBoundary(x wire.Session, o initOptions) error {
	return &failure.Error{
		Status:  http.StatusForbidden,
		Code:    failure.NotAllowed,
		Message: "An agent cannot be launched from inside the boundary of another command",
		Why: "this process is confined and holds no secret of session '" + x.ID + "', and an agent gets a boundary " +
			"of its own",
		Next: "in a shell of yours: " + launchLine(x, o) + "; --print only prints the agent's prompts",
	}
}

// launchLine is the command line, in backquotes, with which a user launches the agent of a session that no runner has:
// it needs none of the session's variables.
func launchLine(x wire.Session, o initOptions) string {
	line := "`" + wire.LaunchLine(x.ID, string(x.Role))
	if o.fix {
		line += " --fix-permissions"
	}
	if o.git {
		line += " --allow-git-config"
	}
	return line + "`"
}

// superviseConfig describes the supervision of a session by this process.
func superviseConfig(
	ctx context.Context, a *Run, server string, own wire.Credential,
) (c supervisor.Config, err error) {
	path, err := home.Path(a.Getenv)
	if err != nil {
		return c, err
	}
	h, err := home.Create(path)
	if err != nil {
		return c, err
	}
	if err := h.Close(); err != nil {
		return c, err
	}
	program, err := os.Executable()
	if err != nil {
		return c, err
	}
	workspaces, err := supervisor.Workspaces(a.Getenv)
	if err != nil {
		return c, failure.Usage("%s", err).WithNext("name a directory with MAESTRO_WORKSPACE")
	}
	roots, err := a.roots()
	if err != nil {
		return c, err
	}
	return supervisor.Config{
		Protocol:     supervisor.Protocol,
		SessionID:    own.SessionID,
		ProjectID:    own.ProjectID,
		Home:         h.Dir(),
		Server:       server,
		Roots:        roots,
		SessionToken: own.Token,
		Within:       own.Within,
		Program:      program,
		Version:      Version(),
		Workspaces:   workspaces,
		Limits: supervisor.Limits{
			Silent: supervisor.DefaultSilent,
			Room:   supervisor.DefaultRoom,
		},
	}, nil
}

// layersHere returns the layers of confinement that a process of the session gets on this machine.
func layersHere(ctx context.Context, c supervisor.Config, p confine.Policy) []string {
	return confine.Names(p.Layers(confine.Available(ctx, []string{c.Program, wire.ProgramConfined, c.SessionID})))
}

// outcomeHere returns an error unless the session completed or waits for an answer. ctx says whether somebody
// interrupted it.
func outcomeHere(ctx context.Context, server *client.Client, id string) error {
	x, err := server.Session(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	if !hasFailed(x) {
		return nil
	}
	f := hasStopped(x)
	switch {
	case ctx.Err() != nil:
		f.Err = &commandExit{ExitInterrupted}
	case x.Run != nil && x.Run.ExitCode != nil && *x.Run.ExitCode > 0:
		f.Err = &commandExit{*x.Run.ExitCode}
	}
	return f
}

// hasFailed reports whether a session has ended without having completed its work.
func hasFailed(x wire.Session) bool {
	return x.EndedAt != nil && (x.Run == nil || x.Run.Status != "completed")
}

// hasStopped tells whoever launches the agent of a session that has failed how it can continue.
func hasStopped(x wire.Session) *failure.Error {
	return &failure.Error{
		Message: fmt.Sprintf("Session '%s' has ended: its status is %s", x.ID, x.Status),
		Why:     x.EndReason,
		Next: "to let it continue, run in a shell without the session's variables: `maestro session resume " + x.ID +
			"`, then " + launchLine(x, initOptions{}),
	}
}

// hostname returns the name of this machine, "" if it has none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// agentScreen shows the course of a run on a terminal.
type agentScreen struct {
	run *Run
	mu  sync.Mutex
}

// Saw implements supervisor.Console.
func (s *agentScreen) Saw(o agent.Observation) {
	if text := observationText(o); text != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.run.Print("%s\n", text)
	}
}

// Tell implements supervisor.Console.
func (s *agentScreen) Tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Say("maestro: "+format+"\n", args...)
}

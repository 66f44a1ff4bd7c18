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
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
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
	if x.Status == events.SessionSaidDone {
		return &failure.Error{
			Status:  http.StatusForbidden,
			Code:    failure.NotAllowed,
			Message: "Session '" + x.ID + "' is complete: it has reported that its work is done",
		}
	}
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
		claim := &commands.ClaimSession{
			SessionID: x.ID,
			Run:       c.Run,
			Host:      hostname(),
			Agent:     supervisor.AgentOf(x.Agent, m),
			Layers:    c.Layers,
		}
		began, err := claimHere(ctx, claim, asRunner.Do)
		if err != nil {
			return err
		}
		if !began { // another terminal of this machine was faster
			return hasAgent(a, x, wire.TerminalRunner)
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
		return hasAgent(a, x, wire.TerminalRunner)
	case errors.Is(err, supervisor.ErrUnknown):
		return unknownRun(x.ID, err)
	case errors.As(err, &fault):
		return notLaunched(x.ID, fault)
	case err != nil && !claimed:
		return err
	case errors.Is(err, supervisor.ErrUntold):
		return untold(x.ID, c.Home, err)
	case err != nil:
		exit := supervisor.Exit{Reason: "its supervisor ended with an error: " + err.Error()}
		_, told := asRunner.Do(context.WithoutCancel(ctx), "session:exited", exit.Command(x.ID, c.Run),
			client.Options{Key: supervisor.ExitKey(x.ID, c.Run)})
		return errors.Join(err, told)
	}
	return outcomeHere(ctx, server, x.ID)
}

// unknownRun is the error for a session of whose earlier run nothing can be read.
func unknownRun(session string, err error) error {
	return &failure.Error{
		Err:     err,
		Code:    "RUN_UNKNOWN",
		Message: "The agent of session '" + session + "' was not launched: it may run already",
		Why:     err.Error(),
		Next: "see with `ps` that no agent of it runs, and look at git's hooks and configuration where it worked; " +
			"then move that file away, and run the command again",
	}
}

// claimWithin is how long a terminal tries to learn what became of its claim.
const claimWithin = 5 * time.Second

// claimHere sends the claim of a terminal until it is clear whether the run began, because an agent is launched, or the
// exit recorded, only if it did. An interrupt ends the run that has begun, and not the claim. The key is of this claim
// alone: whoever repeats it gets the event, and another terminal does not.
func claimHere(
	ctx context.Context, claim *commands.ClaimSession,
	do func(ctx context.Context, id string, body any, o client.Options) (client.Answer, error),
) (began bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimWithin)
	defer cancel()
	key := fmt.Sprintf("%s/%d/claim/%s", claim.SessionID, claim.Run, uuid.NewString())
	for {
		answer, err := do(ctx, claim.ID(), claim, client.Options{Key: key})
		var said *client.Error
		if err == nil || errors.As(err, &said) && said.Status < http.StatusInternalServerError && !client.NotNow(err) {
			return answer.Event != nil, err
		}
		select {
		case <-time.After(betweenTries):
		case <-ctx.Done():
			return false, &failure.Error{
				Err:     err,
				Code:    "CLAIM_UNKNOWN",
				Message: "The agent was not launched: the server did not say whether its run began",
				Why:     err.Error(),
				Next: "see `maestro session info " + claim.SessionID + "` once the server answers: if it has no run, " +
					"run the command again; otherwise " + onceLost(claim.SessionID),
			}
		}
	}
}

// hasAgent is the error for a session whose agent somebody else has launched.
func hasAgent(a *Run, x wire.Session, runner string) error {
	f := &failure.Error{
		Status:  http.StatusConflict,
		Code:    "HAS_AGENT",
		Message: fmt.Sprintf("Session '%s' already has an agent, which runner %s launched", x.ID, runner),
		Next:    "follow it with `maestro session logs " + x.ID + " --follow`; --print only prints its prompts",
	}
	// Inside the boundary, the reader may be that agent.
	if runner == wire.TerminalRunner && !a.throughSocket() {
		a.waiting, a.nextFor = nil, nil // the reader is whoever launches the agent, and not the session
		resumes := onceLost(x.ID)
		if x.Run == nil || x.Run.Host == hostname() { // what is known of its end is here
			resumes = "`maestro session resume " + x.ID +
				"` lets it continue in a shell without the session's variables"
		}
		f.Next += "; if it was killed with its terminal's maestro, " + resumes
	}
	return f
}

// onceLost says how a session continues whose agent's supervisor was killed in its terminal, and could not record that.
func onceLost(session string) string {
	return "`maestro session resume " + session + "` lets it continue, in a shell without the session's variables, " +
		"once it is lost: a minute after it was last heard, unless the server's --lease is another"
}

// untold is the error for a run that ended while the server was away.
func untold(session, home string, err error) error {
	return &failure.Error{
		Err:     err,
		Code:    "EXIT_UNTOLD",
		Message: "The agent of session '" + session + "' has ended, and the server could not be told how",
		Why:     err.Error(),
		Next: "nothing is lost: the home " + home + " keeps it. The home's server records it once it runs; for " +
			"another server, `maestro session resume " + session + "` does, once that answers",
	}
}

// notLaunched is the error for a session whose agent cannot be launched here as things are. Nothing was claimed, so the
// session still waits for its agent.
func notLaunched(session string, fault *preflight.Failure) error {
	return &failure.Error{
		Code:    "NOT_LAUNCHED",
		Message: "The agent was not launched: " + fault.Message,
		Why:     "the checks before its launch failed; session '" + session + "' still waits for its agent",
		Next:    fault.Fix + "; then run the command again",
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
	return x.EndedAt != nil && x.Status != events.SessionSaidDone
}

// hasStopped tells whoever launches the agent of a session that has failed how its work can continue.
func hasStopped(x wire.Session) *failure.Error {
	const apart = ", run in a shell without the session's variables: `"
	f := &failure.Error{
		Message: fmt.Sprintf("Session '%s' has ended: its status is %s", x.ID, x.Status),
		Why:     x.EndReason,
		Next: "to let it continue" + apart + "maestro session resume " + x.ID + "`, then " +
			launchLine(x, initOptions{}),
	}
	if x.Run == nil { // there is no agent to continue
		f.Next = "for another session with its work" + apart + wire.SpawnLikeLine(x.ID, x.Strategy, x.TaskIDs) + "`"
	}
	return f
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

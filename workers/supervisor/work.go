package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
	"maestro/workers/prompt"
)

const (
	// reminders is how often an agent that stopped without completing its session is reminded of that.
	reminders = 2
	// finishWithin is how long a supervisor that was told to stop tries to tell the server how its agent ended.
	finishWithin = 5 * time.Second
)

// work prepares the run and launches the agent until its session is complete, waits or has ended.
func (s *supervisor) work(
	ctx context.Context, group *sync.WaitGroup, helpers context.Context, drivers func(string) (agent.Driver, error),
) Exit {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() {
		select {
		case <-s.over:
			cancel()
		case <-ctx.Done():
		}
	})
	launch, m, err := s.prepare(ctx, group, helpers, drivers)
	if err != nil {
		return s.unprepared(ctx, err)
	}
	prompts, err := s.begin(ctx, m)
	if err != nil {
		return s.unprepared(ctx, err)
	}
	launch.Prompt, launch.System = prompts.Task, prompts.System
	handed := func(context.Context, bool) {}
	if s.Resumes {
		var mail string
		mail, handed = s.fresh(ctx)
		if launch.Conversation = s.Conversation; s.Conversation != "" {
			launch.Prompt = continued(mail)
		} else if mail != "" {
			launch.Prompt += "\n" + mail
		}
	}
	s.mail.confirmOwn(ctx)
	exit := Exit{Conversation: s.Conversation}
	for reminded := 0; ; {
		s.limit(&launch)
		start, err := s.driver.Prepare(launch)
		if err != nil {
			return s.unprepared(ctx, err)
		}
		s.judge.starts(start)
		// Of two variables with the same name, the last one counts: a configuration may name other caches.
		start.Env = append(addEnvironment(nil, s.caches(s.judge.dirs.Home)), start.Env...)
		start.Env = addEnvironment(start.Env, s.given, s.environment(m.Axes().Strategy))
		start.Secrets = append(start.Secrets, secretsIn(s.given)...)
		s.mu.Lock()
		s.countTurns = start.CountTurns
		s.mu.Unlock()
		l, err := s.launch(ctx, start, s.policy(start))
		give, got := handed, err == nil
		group.Go(func() { give(helpers, got) })
		if err != nil {
			exit.Reason = "the agent could not be started: " + err.Error()
			return exit
		}
		o := s.await(ctx, l)
		s.clearGit(ctx)
		exit = Exit{
			Code:         o.code,
			Signal:       o.signal,
			Reason:       o.reason(),
			LastOutput:   o.said,
			Conversation: cmp.Or(o.conversation, launch.Conversation),
		}
		var next string
		next, handed = s.after(ctx, o, exit.Conversation, &reminded)
		if why := s.endedBy(); why != "" {
			exit.Reason = why
		}
		if next == "" || exit.Conversation == "" {
			return exit
		}
		launch.Conversation, launch.Prompt = exit.Conversation, next
	}
}

// endedBy says why the supervisor ended the agent, "" if it did not.
func (s *supervisor) endedBy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unguarded != "" {
		return s.unguarded
	}
	select {
	case <-s.over:
		return s.why
	default:
		return ""
	}
}

// after decides what follows the end of a launch: the prompt of the next one, or "" if there is none.
func (s *supervisor) after(
	ctx context.Context, o outcome, conversation string, reminded *int,
) (next string, handed func(context.Context, bool)) {
	handed = func(context.Context, bool) {}
	if ctx.Err() != nil || conversation == "" || !o.ok() || s.endedBy() != "" {
		return "", handed
	}
	if err := s.keeper.flush(ctx); err != nil { // what it reported counts
		return "", handed
	}
	var x wire.Session
	err := s.calls.until(ctx, func(ctx context.Context) (err error) {
		x, err = s.calls.session.Session(ctx, s.SessionID)
		return err
	})
	if err != nil || x.EndedAt != nil || x.Status == events.SessionSaidDone {
		return "", handed
	}
	spent := s.spent()
	if !spent {
		if mail, handed := s.fresh(ctx); mail != "" {
			s.Tell("The agent continues, because it has mail.")
			return mail, handed
		}
	}
	var me wire.Whoami
	err = s.calls.until(ctx, func(ctx context.Context) (err error) {
		me, err = s.calls.session.Whoami(ctx)
		return err
	})
	if err != nil || me.Asks > 0 {
		return "", handed // the answer begins the next run
	}
	if spent {
		s.stop(s.usedUp())
		return "", handed
	}
	if *reminded++; *reminded > reminders {
		return "", handed
	}
	s.Tell("The agent stopped without completing its session; it is reminded of that.")
	return reminder(), handed
}

// fresh returns the mail that came while the agent ended.
func (s *supervisor) fresh(ctx context.Context) (string, func(context.Context, bool)) {
	var box wire.Mailbox
	err := s.calls.until(ctx, func(ctx context.Context) (err error) {
		box, err = s.calls.session.Mail(ctx, s.SessionID)
		return err
	})
	if err == nil {
		s.mail.came(box.Mail)
	}
	return s.mail.take()
}

// check makes the checks once.
func (s *supervisor) check(
	ctx context.Context, drivers func(string) (agent.Driver, error),
) (launch agent.Launch, m *manifest.Manifest, err error) {
	var x wire.Session
	var content []byte
	if err := s.calls.until(ctx, func(ctx context.Context) (err error) {
		own, err := s.calls.session.Credential(ctx, s.SessionID)
		if err != nil {
			return err
		}
		s.given = own.Env
		if x, err = s.calls.session.Session(ctx, s.SessionID); err != nil {
			return err
		}
		content, err = s.calls.session.SessionManifest(ctx, s.SessionID)
		return err
	}); err != nil {
		return launch, nil, err
	}
	if m, err = manifest.ParseChecked(content); err != nil {
		return launch, nil, fmt.Errorf("the manifest of the session: %w", err)
	}
	s.options, s.model = optionsOf(m)
	if s.Runner == wire.TerminalRunner {
		s.command = string(m.Role) + " init"
	}
	s.usedBefore(&x)
	name := AgentOf(x.Agent, m)
	if s.driver, err = drivers(name); err != nil {
		return launch, m, undriven(name, err)
	}
	target := cmp.Or(s.options.WorkingDirectory, s.Directory)
	user, err := os.UserHomeDir()
	if err != nil {
		return launch, m, err
	}
	// The permissions change here, also before a claim that the server may refuse: what follows reads the target, so it
	// could not be checked otherwise. The user of the terminal has asked for the change, with --fix-permissions.
	s.dirs, err = preflight.Prepare(preflight.Options{
		UserHome:       user,
		Workspaces:     s.Workspaces,
		Session:        s.SessionID,
		Target:         target,
		Within:         s.Within,
		Orchestrator:   s.OrchestratorDir,
		MaestroHome:    s.Home,
		FixPermissions: s.FixPermissions,
		Command:        s.command,
		Room:           s.Room,
	})
	if err != nil {
		return launch, m, err
	}
	if err := s.makeOwn(); err != nil {
		return launch, m, err
	}
	for _, check := range []func(context.Context) error{s.checkProgram, s.checkMode, s.checkNetwork, s.checkGit} {
		if err := check(ctx); err != nil {
			return launch, m, err
		}
	}
	if err := s.checkAgent(ctx); err != nil {
		return launch, m, err
	}
	if launch, err = s.describe(content); err == nil {
		launch.Skills, err = s.skills(m.Skills)
	}
	return launch, m, err
}

// checkAgent makes the checks of the agent's own program.
func (s *supervisor) checkAgent(ctx context.Context) error {
	for _, found := range s.driver.Check(ctx, os.Environ(), s.runBriefly) {
		return &preflight.Failure{
			Check:   preflight.Check(found.ID),
			Path:    found.Path,
			Message: "Agent " + s.driver.Name() + " cannot start: " + found.Message,
			Fix:     found.Fix,
		}
	}
	return nil
}

// describe returns what is known about the launch, and puts the agent's copy of its manifest into the workspace.
func (s *supervisor) describe(content []byte) (launch agent.Launch, err error) {
	if err := s.placeManifest(content); err != nil {
		return launch, err
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return launch, err
	}
	s.judge = s.newJudge(user)
	return agent.Launch{
		SessionID:    s.SessionID,
		ProjectID:    s.ProjectID,
		Workspace:    s.dirs.Workspace,
		Target:       s.dirs.Target,
		Orchestrator: s.dirs.Orchestrator,
		State:        filepath.Join(s.dirs.Workspace, stateDir),
		Options:      s.options,
		Model:        modelFor(s.driver.Name(), s.model),
		Environ:      os.Environ(),
		Root:         os.Geteuid() == 0,
		Maestro:      filepath.Dir(s.Program),
		Temp:         filepath.Join(s.dirs.Workspace, tempDir),
	}, nil
}

// begin registers the session, as `worker init` does, and renders its prompts.
func (s *supervisor) begin(ctx context.Context, m *manifest.Manifest) (prompts Prompts, err error) {
	_, err = s.calls.do(ctx, s.calls.session, string(m.Role)+":init",
		&commands.InitSession{ManifestDigest: manifest.Digest(m.Canonical())}, fmt.Sprintf("%d/init", s.Run))
	if err != nil {
		return prompts, err
	}
	var changes []prompt.Change
	if s.Conversation == "" && s.takesOver(m) {
		changes = s.changes(ctx)
	}
	err = s.calls.until(ctx, func(ctx context.Context) (err error) {
		prompts, err = RenderPrompts(ctx, s.calls.session, m, s.SessionID, s.ProjectID, s.dirs.Workspace, changes)
		return err
	})
	return prompts, err
}

// await waits for the end of a launch, and ends it when the run may not go on.
func (s *supervisor) await(ctx context.Context, l *launched) outcome {
	s.mu.Lock()
	s.running = l
	unguarded := s.unguarded
	s.mu.Unlock()
	s.attention.heardNow()
	if unguarded != "" {
		s.end(l)
	}
	select {
	case <-l.ended:
	case <-ctx.Done():
		if s.endedBy() == "" {
			s.Tell("The agent is being ended, with everything that it started; that can take some seconds.")
		}
		s.end(l)
		<-l.ended
	}
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	s.attention.rest()
	s.decisions.reset()
	if l.err != nil {
		s.logger.Warn("the agent's output is not complete", "why", l.err)
	}
	return l.result
}

// unprepared is the exit of a run whose agent was not launched.
func (s *supervisor) unprepared(ctx context.Context, err error) Exit {
	var failed *preflight.Failure
	switch {
	case errors.As(err, &failed):
		return Exit{Reason: "the agent was not started: " + failed.Message, Conversation: s.Conversation}
	case ctx.Err() != nil:
		return Exit{Reason: "the agent was not started: the run was ended before", Conversation: s.Conversation}
	}
	return Exit{Reason: "the agent was not started: " + err.Error(), Conversation: s.Conversation}
}

// ErrUntold says that a run ended, and that the server could not be told how. The home has it.
var ErrUntold = errors.New("the server does not know yet how the run ended")

// finish tells the server how the run ended.
func (s *supervisor) finish(ctx context.Context, exit Exit) error {
	s.overOnce.Do(func() {}) // the run is over, whatever becomes of the session
	if err := s.save(func(is *Saved) { is.Exit = &exit }); err != nil {
		s.logger.Error("the end of the run is not saved in the home", "why", err)
	}
	told, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if ctx.Err() != nil {
		told, cancel = context.WithTimeout(told, finishWithin)
		defer cancel()
	}
	if err := s.keeper.flush(told); err != nil {
		s.logger.Warn("kept commands are not delivered yet", "why", err)
	}
	s.records.flush(told)
	_, err := s.calls.do(told, s.calls.runner, "session:exited", exit.Command(s.SessionID, s.Run),
		ExitKey(s.SessionID, s.Run))
	if err != nil && !client.ForGood(err) && !revoked(err) {
		return fmt.Errorf("%w: %w", ErrUntold, err)
	}
	if err != nil {
		s.logger.Warn("the server does not take how the run ended", "why", err)
	}
	return s.save(func(is *Saved) { is.Reported = true })
}

// ExitKey is the key of the command that records the end of a run, whoever sends it.
func ExitKey(session string, run int) string { return fmt.Sprintf("%s/%d/exited", session, run) }

// Command returns the record of the exit.
func (e Exit) Command(session string, run int) *commands.ExitSession {
	return &commands.ExitSession{
		SessionID:    session,
		Run:          run,
		ExitCode:     e.Code,
		Signal:       e.Signal,
		Reason:       short(e.Reason),
		LastOutput:   events.Ending(e.LastOutput, lastOutput),
		Conversation: e.Conversation,
	}
}

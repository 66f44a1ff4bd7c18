package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
)

// claim makes the checks before the launch, and then claims the run. A fault ends it with a *preflight.Failure before
// anything began, so whoever sees the error can mend it and do the same again.
func (s *supervisor) claim(ctx context.Context, drivers func(name string) (agent.Driver, error)) error {
	launch, m, err := s.check(ctx, drivers)
	if err == nil {
		err = ProbeHook(ctx, s.Program)
	}
	if err == nil {
		err = s.Claim(ctx)
	}
	if err != nil {
		return errors.Join(preflight.Shown(err), s.closeOpened())
	}
	s.ready = &prepared{launch, m}
	return s.saveBegun()
}

// prepare makes the checks before the launch, until they pass, and returns what is known about the launch then.
func (s *supervisor) prepare(
	ctx context.Context, group *sync.WaitGroup, helpers context.Context, drivers func(string) (agent.Driver, error),
) (agent.Launch, *manifest.Manifest, error) {
	for attempt := 1; ; attempt++ {
		launch, m, err := s.checked(ctx, drivers)
		// Of an earlier run, whose supervisor was killed. Only a run that has begun can record what is undone.
		s.restoreGit(ctx)
		if err == nil && s.socket == "" {
			err = s.openSocket(helpers, group)
		}
		if err == nil {
			launch.Hook = []string{s.Program, wire.ProgramHook, "--socket", s.socket}
			if s.options.PermissionMode == modeInteractive {
				launch.Hook = append(launch.Hook, "--within", agent.HookClock(true).String())
			}
			err = s.probeHook(ctx, launch.Hook)
		}
		if err == nil {
			return launch, m, nil
		}
		var failed *preflight.Failure
		if !errors.As(preflight.Shown(err), &failed) {
			return launch, m, err
		}
		again, err := s.escalate(ctx, failed, attempt)
		if err != nil || !again {
			return launch, m, cmp.Or(err, error(failed))
		}
	}
}

// prepared is what is known about a launch after the checks.
type prepared struct {
	launch   agent.Launch
	manifest *manifest.Manifest
}

// checked makes the checks once, unless those before the claim have just passed.
func (s *supervisor) checked(
	ctx context.Context, drivers func(string) (agent.Driver, error),
) (agent.Launch, *manifest.Manifest, error) {
	if ready := s.ready; ready != nil {
		s.ready = nil
		return ready.launch, ready.manifest, nil
	}
	return s.check(ctx, drivers)
}

// escalate asks the user what to do about a failed check, and waits for the answer.
func (s *supervisor) escalate(ctx context.Context, failed *preflight.Failure, attempt int) (again bool, err error) {
	s.logger.Warn("the run cannot start", "check", failed.Check, "path", failed.Path, "why", failed.Message)
	answer, err := s.calls.do(ctx, s.calls.runner, "preflight:failed", &commands.FailPreflight{
		SessionID: s.SessionID,
		Run:       s.Run,
		Check:     string(failed.Check),
		Path:      failed.Path,
		Message:   short(failed.Message),
		Fix:       short(failed.Fix),
	}, fmt.Sprintf("%s/%d/preflight/%d", s.SessionID, s.Run, attempt))
	if err != nil {
		return false, err
	}
	input, err := questionOf(answer)
	if err != nil {
		return false, err
	}
	question := &events.PreflightFailed{Path: failed.Path, Message: failed.Message, Fix: failed.Fix}
	s.Tell("The run cannot start. %s This waits for an answer from another terminal: `maestro input answer %s retry`, "+
		"or `maestro input answer %[2]s %s`.", safetext.OneLine(question.Question()), input,
		safetext.Quoted(events.PreflightGiveUp))
	left := s.leavePlace()
	text, err := s.answerTo(ctx, input)
	switch {
	case err == nil && text == events.PreflightGiveUp:
		s.mail.confirmOwn(ctx)
		return false, nil
	case err == nil && left:
		err = s.takePlace(ctx)
	}
	return err == nil, err
}

// answerTo waits for the answer to a question of the run.
func (s *supervisor) answerTo(ctx context.Context, input string) (string, error) {
	for {
		came := s.mail.waits()
		if mail, ok := s.mail.answer(input); ok {
			return mail.Text, nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

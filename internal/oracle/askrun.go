package oracle

import "cmp"

// assigned is liveSession for what a runner says of the last run of a session. It refuses the command of a supervisor
// for another session, and of another runner or run.
func (a *asked) assigned() (*session, *run) {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil, nil
	case a.Speaks != "" && a.Speaks != s.id:
		a.refuse(codeAllowed)
	case s.run == nil && s.runner == a.by.id:
		a.refuse(codeConflict)
	case s.run == nil || s.run.runner != a.by.id:
		a.refuse(codeAllowed)
	case s.run.number != a.f.Run:
		a.refuse(codeConflict)
	default:
		return s, s.run
	}
	return nil, nil
}

// present is assigned for a run that goes on.
func (a *asked) present() (*session, *run) {
	s, r := a.assigned()
	switch {
	case r == nil:
		return nil, nil
	case s.ended != "":
		a.refuse(codeAllowed)
	case r.exited || r.resumed:
		a.refuse(codeConflict)
	default:
		return s, r
	}
	return nil, nil
}

func (a *asked) claimSession() fact {
	s := a.liveSession()
	runner := cmp.Or(a.f.Runner, a.by.id)
	switch {
	case s == nil:
		return nil
	case a.Speaks != "" && a.Speaks != s.id, runner != a.by.id, s.ended != "":
		return a.no(codeAllowed)
	case s.claimed():
		mine := s.run.runner == runner && s.run.host == a.f.Host && !s.run.exited
		if mine && (a.f.Run == 0 || a.f.Run == s.run.number) {
			return a.so()
		}
		return a.no(codeConflict)
	case s.isDone(), !s.mayClaim(runner):
		return a.no(codeAllowed)
	case a.f.Run != 0 && a.f.Run != s.nextRun():
		return a.no(codeConflict)
	}
	return &sessionClaimed{
		SessionID: s.id,
		Runner:    runner,
		Run:       s.nextRun(),
		Host:      a.f.Host,
		Resumes:   s.run != nil && s.run.conversation != "",
	}
}

func (a *asked) exitSession() fact {
	s, r := a.assigned()
	switch {
	case r == nil:
		return nil
	case r.exited:
		return a.so()
	case r.resumed:
		return a.no(codeConflict)
	}
	exited := &sessionExited{
		SessionID:    s.id,
		Run:          r.number,
		ExitCode:     a.f.ExitCode,
		Signal:       a.f.Signal,
		LastOutput:   a.f.LastOutput,
		Conversation: a.f.Conversation,
	}
	exited.Status = exited.ends(a.trial, s)
	return exited
}

func (a *asked) useSession() fact {
	s, r := a.assigned()
	if r == nil {
		return nil
	}
	return &sessionUsed{s.id, r.number, a.f.used}
}

func (a *asked) blockCommand() fact {
	s, r := a.assigned()
	if r == nil {
		return nil
	}
	return &sandboxBlocked{
		SessionID: s.id,
		Run:       r.number,
		Command:   a.f.Command,
		Reason:    a.f.Reason,
	}
}

func (a *asked) failPreflight() fact {
	s, r := a.present()
	if r == nil {
		return nil
	}
	failed := &preflightFailed{
		SessionID: s.id,
		Run:       r.number,
		Check:     a.f.Check,
		Path:      a.f.Path,
		Message:   a.f.Message,
		Fix:       a.f.Fix,
		InputID:   a.fresh,
	}
	if isID(failed.Check) && failed.Message != "" && a.isOpen(s.id, failed.text()) {
		return a.so()
	}
	return failed
}

func (a *asked) markStuck() fact {
	s, r := a.present()
	if r == nil {
		return nil
	}
	stuck := &sessionStuck{
		SessionID: s.id,
		Run:       r.number,
		Kind:      a.f.Kind,
		Detail:    a.f.Detail,
		Since:     a.f.Since,
	}
	if r.stuck == a.f.Kind && (a.f.Kind == "" || r.detail == a.f.Detail && (a.f.Since == 0 || a.f.Since == r.since)) {
		return a.so()
	}
	switch {
	case a.f.Kind == "":
		stuck.Since = 0
	case a.f.Since == 0:
		stuck.Since = a.at()
	}
	return stuck
}

func (a *asked) resumeSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	if a.spawner(s); a.refused() {
		return nil
	}
	switch {
	case s.run == nil:
		return a.no(codeRule)
	case s.goesOn():
		return a.so()
	case !a.hasWork(s):
		return a.no(codeRule)
	}
	resumed := &sessionResumed{SessionID: s.id, Run: s.nextRun(), Generation: s.generation + 1}
	if s.timeout != 0 {
		resumed.Deadline = a.event.Time.Add(s.timeout).UnixMilli()
	}
	return resumed
}

package projections

import "iter"

// employed are the sessions that concern a runner, in a line by the events that created them: those that a runner is to
// launch or has launched, and those whose agent still runs although they have ended. The index is derived from the
// sessions, so it is not encoded.

// Employed returns the sessions that concern runners, in order of creation: those that live and are assigned to a
// runner, and those with a run that has not ended.
func (s *State) Employed() iter.Seq[*Session] { return s.sessionsIn(s.employed) }

// Employed reports whether the session concerns a runner.
func (x *Session) Employed() bool {
	run := x.LastRun()
	switch {
	case run != nil && !run.Exited() && !run.IsResumed():
		return true
	case x.Deleted || x.Ended():
		return false
	}
	return run != nil || x.Runner != ""
}

// employs updates the index for a session that changed; before is nil for a new one. The sequence of the event that
// created it is given, because the id of an event that is being folded is not known yet.
func (s *State) employs(before, after *Session, at uint64) {
	was, is := before != nil && before.Employed(), after.Employed()
	if was != is {
		s.employed = s.employed.set(at, after.ID, is)
		s.work(lineCost)
	}
}

// AwaitsRun reports whether a runner may begin the session's next run now: it was not launched yet, it was resumed, or
// the answer that its agent waited for is there.
func (s *State) AwaitsRun(x *Session) bool {
	switch {
	case x.Deleted || !x.Active():
		return false
	case x.Waits():
		mail := s.Undelivered(x.ID)
		s.lookedThrough(len(mail))
		return len(mail) > 0
	}
	return !x.Claimed()
}

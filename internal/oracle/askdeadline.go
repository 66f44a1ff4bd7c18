package oracle

func (a *asked) loseSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case !s.mayBeLost():
		return a.so()
	}
	return &sessionLost{SessionID: s.id, LastHeard: a.at() - a.f.SilentFor, Lease: a.f.Lease}
}

// mayBeLost reports whether the session can be marked as lost: one that reported its completion and holds nothing may
// be silent, and so may one whose agent ended while it waits for an answer.
func (s *session) mayBeLost() bool {
	return s.ended == "" && !s.lost && !s.waits() && (s.status != completed || s.holds != nil)
}

func (a *asked) recoverSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case !s.lost || s.ended != "":
		return a.so()
	}
	return &sessionRecovered{SessionID: s.id}
}

func (a *asked) timeOutSession() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case s.ended != "":
		return a.so()
	}
	return &sessionTimedOut{SessionID: s.id, Deadline: s.deadline()}
}

// deadline returns when the session times out, in milliseconds since 1970; 0 if never.
func (s *session) deadline() int64 {
	if s.timeout == 0 {
		return 0
	}
	began := s.born
	if !s.limited.IsZero() {
		began = s.limited
	}
	return began.Add(s.timeout).UnixMilli()
}

package oracle

type sessionLost struct {
	SessionID string `json:"sessionId"`
	LastHeard int64  `json:"lastheard"`
	Lease     int64  `json:"lease"`
}

func (f *sessionLost) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionLost) commands() []string       { return []string{"session:lost"} }

func (f *sessionLost) judge(c *trial) {
	switch s := c.aLiveSession(f.SessionID); {
	case s == nil:
	case s.lost:
		c.fault(ruleLease, "session %s was already lost", s.id)
	case s.waits():
		c.fault(ruleLease, "session %s waits for an answer, and its agent ended", s.id)
	}
	if f.Lease <= 0 || f.LastHeard+f.Lease > c.event.Time.UnixMilli() {
		c.fault(
			ruleLease,
			"the session was heard at %d with a lease of %d ms, which had not expired at %d",
			f.LastHeard,
			f.Lease,
			c.event.Time.UnixMilli(),
		)
	}
}

func (f *sessionLost) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.lost, s.gone = true, c.event.ID
		s.losses++
	}
}

type sessionRecovered struct {
	SessionID string `json:"sessionId"`
}

func (f *sessionRecovered) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionRecovered) commands() []string       { return []string{"session:recovered"} }

func (f *sessionRecovered) judge(c *trial) {
	if s := c.aLiveSession(f.SessionID); s != nil && !s.lost {
		c.fault(ruleLease, "session %s recovers, but was not lost", s.id)
	}
}

func (f *sessionRecovered) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.lost = false
	}
}

type sessionTimedOut struct {
	SessionID string `json:"sessionId"`
	Deadline  int64  `json:"deadline"`
}

func (f *sessionTimedOut) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionTimedOut) commands() []string       { return []string{"session:timed-out"} }

func (f *sessionTimedOut) judge(c *trial) {
	s := c.aLiveSession(f.SessionID)
	if s == nil {
		return
	}
	if s.timeout == 0 {
		c.fault(ruleTimeout, "session %s has no timeout", s.id)
	} else if deadline := s.deadline(); f.Deadline != deadline {
		c.fault(ruleTimeout,
			"the event gives deadline %d, but the deadline of session %s is %d", f.Deadline, s.id, deadline)
	}
	if f.Deadline > c.event.Time.UnixMilli() {
		c.fault(ruleTimeout,
			"the session timed out before its deadline: %d, at %d", f.Deadline, c.event.Time.UnixMilli())
	}
}

func (f *sessionTimedOut) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil && s.ended == "" {
		s.end(c, endFailed)
	}
}

package commands

import (
	"maestro/events"
	"maestro/projections"
)

// LoseSession marks a session as lost that was silent for longer than its lease. Only the system may do it;
// docs/contract.md, "Late reports and lost sessions".
type LoseSession struct {
	noTexts
	SessionID string `json:"sessionId" doc:"the session"`
	SilentFor int64  `json:"silentFor" doc:"how long nothing was heard from it, in milliseconds"`
	Lease     int64  `json:"lease" doc:"how long it may be silent, in milliseconds"`
}

// RecoverSession clears the mark of a lost session that was heard again. Only the system may do it.
type RecoverSession struct {
	noTexts
	SessionID string `json:"sessionId" doc:"the session"`
}

// TimeOutSession ends a session whose time limit has expired. Only the system may do it.
type TimeOutSession struct {
	noTexts
	SessionID string `json:"sessionId" doc:"the session"`
}

// ID implements Command.
func (*LoseSession) ID() string { return "session:lost" }

// ID implements Command.
func (*RecoverSession) ID() string { return "session:recovered" }

// ID implements Command.
func (*TimeOutSession) ID() string { return "session:timed-out" }

func (x *LoseSession) project(s *projections.State, _ Actor) string {
	return s.SessionProject(x.SessionID)
}

func (x *RecoverSession) project(s *projections.State, _ Actor) string {
	return s.SessionProject(x.SessionID)
}

func (x *TimeOutSession) project(s *projections.State, _ Actor) string {
	return s.SessionProject(x.SessionID)
}

// MayBeLost reports whether a session's silence matters: a session that said it is done may be silent, unless it holds
// an item; and so may one whose agent ended while it waits for an answer.
func MayBeLost(s *projections.State, x *projections.Session) bool {
	return !x.Ended() && !x.Lost() && !x.Waits() && (x.Status != events.SessionSaidDone || s.Holds(x) != nil)
}

// Decide implements Command. Silence is given as a duration, so that setting back a clock does not shorten it.
func (x *LoseSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, ProjectRef{}, x.SessionID)
	if err != nil {
		return nil, err
	}
	switch {
	case !MayBeLost(s, session):
		return nil, nil
	case x.Lease <= 0 || x.SilentFor < x.Lease:
		return nil, forbidden("a session is lost only after its lease", "wait until its lease expires",
			"Session '%s' was heard %d ms ago, and its lease is %d ms", session.ID, x.SilentFor, x.Lease)
	}
	return &events.SessionLost{SessionID: session.ID, LastHeard: c.At.UnixMilli() - x.SilentFor, Lease: x.Lease}, nil
}

func (x *LoseSession) from(e *events.Event, d *events.SessionLost) bool {
	*x = LoseSession{SessionID: d.SessionID, SilentFor: e.Time.UnixMilli() - d.LastHeard, Lease: d.Lease}
	return true
}

// Decide implements Command.
func (x *RecoverSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, ProjectRef{}, x.SessionID)
	if err != nil || !session.Lost() || session.Ended() {
		return nil, err
	}
	return &events.SessionRecovered{SessionID: session.ID}, nil
}

func (x *RecoverSession) from(_ *events.Event, d *events.SessionRecovered) bool {
	*x = RecoverSession{SessionID: d.SessionID}
	return true
}

// Decide implements Command.
func (x *TimeOutSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, ProjectRef{}, x.SessionID)
	if err != nil || session.Ended() {
		return nil, err
	}
	if session.Deadline == 0 || c.At.UnixMilli() < session.Deadline {
		return nil, forbidden("a session times out only at its deadline", "wait until its deadline",
			"Session '%s' has not reached its deadline", session.ID)
	}
	return &events.SessionTimedOut{SessionID: session.ID, Deadline: session.Deadline}, nil
}

func (x *TimeOutSession) from(_ *events.Event, d *events.SessionTimedOut) bool {
	*x = TimeOutSession{SessionID: d.SessionID}
	return true
}

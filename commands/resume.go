package commands

import (
	"maestro/events"
	"maestro/projections"
)

// ResumeSession lets another run of a session begin, also after its end: its agent continues what it did. The secret of
// the runs before is revoked, so that an agent which survived somewhere cannot act any more. docs/contract.md, "Runs".
type ResumeSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
}

// ID implements Command.
func (*ResumeSession) ID() string { return "session:resume" }

func (x *ResumeSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *ResumeSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := spawnedSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	run := session.LastRun()
	switch {
	case run == nil:
		return nil, forbidden("no runner has claimed it yet, so there is no agent to continue",
			"spawn another: `"+s.Successor(session)+"`", "Session '%s' cannot be resumed", session.ID)
	case !session.Ended() && (run.IsResumed() || session.Claimed() && !session.Lost()):
		return nil, nil
	}
	if why := s.NothingLeft(session); why != "" {
		return nil, forbidden(why, "spawn a session for other work: `"+s.Successor(session)+"`",
			"Session '%s' cannot be resumed: it has nothing left to do", session.ID)
	}
	resumed := &events.SessionResumed{
		SessionID:  session.ID,
		Run:        session.NextRun(),
		Generation: session.Generation + 1,
	}
	if session.TimeLimit > 0 {
		resumed.Deadline = c.At.UnixMilli() + session.TimeLimit
	}
	return resumed, nil
}

func (x *ResumeSession) from(e *events.Event, d *events.SessionResumed) bool {
	*x = ResumeSession{ProjectRef: inProject(e), SessionID: d.SessionID}
	return true
}

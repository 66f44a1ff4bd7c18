package events

import "fmt"

// SessionLost: a session was silent for longer than its lease. It is only marked; it has not ended.
type SessionLost struct {
	SessionID string `json:"sessionId" doc:"the session"`
	LastHeard int64  `json:"lastheard" doc:"when it was last heard, in milliseconds since 1970"`
	Lease     int64  `json:"lease" doc:"how long it may be silent, in milliseconds"`
}

// SessionRecovered: a lost session was heard again.
type SessionRecovered struct {
	SessionID string `json:"sessionId" doc:"the session"`
}

// SessionTimedOut: a session's time limit expired, and it ends as failed.
type SessionTimedOut struct {
	SessionID string `json:"sessionId" doc:"the session"`
	Deadline  int64  `json:"deadline" doc:"when it ran out of time, in milliseconds since 1970"`
}

var deadlineEvents = []Entry{
	entry[SessionLost]("A session sent nothing for as long as its lease."),
	entry[SessionRecovered]("A lost session sent something again."),
	entry[SessionTimedOut]("A session had its time, and ended as failed."),
}

// EventType implements Data.
func (*SessionLost) EventType() string { return "maestro.session.lost.v1" }

// EventType implements Data.
func (*SessionRecovered) EventType() string { return "maestro.session.recovered.v1" }

// EventType implements Data.
func (*SessionTimedOut) EventType() string { return "maestro.session.timed_out.v1" }

// Aggregate implements Data.
func (d *SessionLost) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionRecovered) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionTimedOut) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionLost) Describe() Description {
	return describe("lost", "lose", named(" session ", d.SessionID, ""),
		text(fmt.Sprintf(": nothing heard from it for %d s", d.Lease/1000)))
}

// Describe implements Data.
func (d *SessionRecovered) Describe() Description {
	return describe("heard", "hear", named(" session ", d.SessionID, ""), text(" again"))
}

// Describe implements Data.
func (d *SessionTimedOut) Describe() Description {
	return describe("ended", "end", named(" session ", d.SessionID, ""), text(" as failed: it ran out of time"))
}

func (*SessionLost) silent()      {}
func (*SessionLost) sealed()      {}
func (*SessionRecovered) sealed() {}
func (*SessionTimedOut) sealed()  {}

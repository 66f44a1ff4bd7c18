package projections

import (
	"iter"

	"maestro/events"
)

// Lost reports whether the session was silent for too long, and has not been heard since.
func (x *Session) Lost() bool { return x.LostAt != 0 }

// Silent reports whether a session is lost that still has something to do: nobody waits to hear from one that has
// ended, or said that it is done.
func (x *Session) Silent() bool { return x.Lost() && x.Active() }

// Gone returns why a session can no longer hold an item: lost, stopped, failed or deleted; "" if it can.
func (s *State) Gone(id string) string {
	x := s.sessions.get(id)
	switch {
	case x == nil || x.Deleted:
		return "deleted"
	case x.Ended():
		return string(x.Status)
	case x.Lost():
		return "lost"
	}
	return ""
}

// Became returns what a session became that is not at work: lost, completed, stopped, failed or deleted; "" if it is,
// or there never was one.
func (s *State) Became(id string) string {
	switch x := s.sessions.get(id); {
	case x == nil || x.Active() && !x.Lost() && !x.Deleted:
		return ""
	case !x.Deleted && !x.Active():
		return string(x.Status)
	}
	return s.Gone(id)
}

// The types of the entries for the loss of a session, and for its return.
const (
	EntryLost      = "session_lost"
	EntryRecovered = "session_recovered"
)

// Deadlines returns the sessions with a deadline, in order of creation.
func (s *State) Deadlines() iter.Seq[*Session] { return s.sessionsIn(s.timed) }

func (s *State) sessionLost(f fact, d *events.SessionLost) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.gone(f, d.SessionID, func(x *Session) {
		x.LostAt = f.at
		x.Losses++
	})
	s.note(f, 0)
	return nil
}

func (s *State) sessionRecovered(f fact, d *events.SessionRecovered) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.changeSession(d.SessionID, func(x *Session) { x.LostAt = 0 })
	s.note(f, 0)
	return nil
}

func (s *State) sessionTimedOut(f fact, d *events.SessionTimedOut) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.gone(f, d.SessionID, func(x *Session) {
		x.EndReason = "timed out"
		x.Status, x.EndedAt, x.CompletedAt, x.LastActivity = events.SessionEndFailed, f.at, f.at, f.at
	})
	s.note(f, 0)
	return nil
}

package projections

import (
	"maestro/events"
)

// SessionWord returns a working session's last report on itself as a whole, if it is that it is blocked or has failed;
// otherwise nil. Its next report, on anything, replaces it.
func (s *State) SessionWord(x *Session) *Entry {
	if !x.Active() {
		return nil
	}
	return s.halted.get(x.ID)
}

// LastWord is SessionWord for a session that may have ended.
func (s *State) LastWord(x *Session) *Entry { return s.halted.get(x.ID) }

// halt records a session's report on itself as a whole, if it says that the session cannot continue.
func (s *State) halt(e *Entry) {
	if e.SessionID == "" || e.Late {
		return
	}
	if _, author, _ := SessionOfSource(e.Source); author != e.SessionID {
		return
	}
	switch e.Type {
	case reportType(events.ReportBlocked), reportType(events.ReportError):
		if e.TaskID == "" {
			s.halted.put(e.SessionID, e)
			return
		}
	case reportType(events.ReportProgress), reportType(events.ReportComplete), reportType(events.ReportNeedsInput):
	default:
		return
	}
	if s.halted.get(e.SessionID) != nil {
		s.halted.put(e.SessionID, nil)
	}
}

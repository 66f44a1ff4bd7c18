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
	return s.LastWord(x)
}

// LastWord is SessionWord for a session that may have ended.
func (s *State) LastWord(x *Session) *Entry {
	if word := s.lastWords.get(x.ID); word != nil && word.Type != reportType(events.ReportComplete) {
		return word
	}
	return nil
}

// FarewellOf returns what a session said when it reported on itself as a whole that it is done, or the beginning of
// that; "" if it said nothing then, or said something else since.
func (s *State) FarewellOf(x *Session) string {
	if word := s.lastWords.get(x.ID); word != nil && word.Type == reportType(events.ReportComplete) {
		return word.Message
	}
	return ""
}

// mostFarewell bounds the bytes that are kept of what a session says at its end: more than the inbox shows.
const mostFarewell = 2 * InboxText

// halt records a session's report on itself as a whole, if it says that the session cannot continue, or is done.
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
			s.lastWords.put(e.SessionID, e)
			return
		}
	case reportType(events.ReportComplete):
		if e.TaskID == "" && e.Message != "" {
			kept := *e
			kept.Message, _ = events.Beginning(e.Message, mostFarewell)
			s.lastWords.put(e.SessionID, &kept)
			return
		}
	case reportType(events.ReportProgress), reportType(events.ReportNeedsInput):
	default:
		return
	}
	if s.lastWords.get(e.SessionID) != nil {
		s.lastWords.put(e.SessionID, nil)
	}
}

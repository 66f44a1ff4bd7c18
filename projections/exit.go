package projections

import (
	"encoding/json"
	"fmt"
)

// TypeExited is the type of the entry for the end of a session's command.
const TypeExited = "command_exited"

// Exited is the data of such an entry.
type Exited struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
	// Others says that another command of the session still ran.
	Others bool `json:"others,omitempty"`
}

// newestOf remembers the newest entries of a session that say what became of it.
func (s *State) newestOf(e *Entry) {
	switch x := s.sessions.get(e.SessionID); {
	case e.Type == TypeExited:
		end := e
		if e.exited().Others {
			end = nil // a command runs
		}
		s.exits.put(e.SessionID, end)
	case s.exits.get(e.SessionID) == nil:
	case e.Type == EntryRecovered, x != nil && e.Source == x.Source():
		s.exits.put(e.SessionID, nil)
	}
	if e.Type == EntryLost || e.Type == EntryRecovered {
		s.losses.put(e.SessionID, &Loss{e.At, e.Type == EntryRecovered, len(s.sessionTimelines.get(e.SessionID))})
	}
}

// Loss is the newest entry of a session that says that it was lost, or heard again. Immutable.
type Loss struct {
	At int64
	// Recovered says that it was heard again.
	Recovered bool
	// Entries is the length of the session's timeline up to it.
	Entries int
}

// Loss returns when a session was last lost or recovered, nil if it never was.
func (s *State) Loss(x *Session) *Loss { return s.losses.get(x.ID) }

// ExitCode returns the exit code of the command that ended, 0 if it is unknown.
func (e *Entry) ExitCode() int { return e.exited().ExitCode }

// exited returns the data of the entry, the zero value if it has no such data.
func (e *Entry) exited() (exited Exited) {
	if json.Unmarshal(e.Data, &exited) != nil {
		return Exited{}
	}
	return exited
}

// Exited describes how the command ended.
func (e *Entry) Exited() string {
	var exited Exited
	if json.Unmarshal(e.Data, &exited) != nil {
		return "its command ended"
	}
	return fmt.Sprintf("its command ended with exit code %d", exited.ExitCode)
}

// Exit returns the entry for the end of a session's command, nil if the session was heard since, or there is none.
func (s *State) Exit(x *Session) *Entry { return s.exits.get(x.ID) }

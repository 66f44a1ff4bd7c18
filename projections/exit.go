package projections

import (
	"encoding/json"
	"fmt"

	"maestro/events"
)

// TypeExited is the type of the entry for the end of a session's command.
const TypeExited = "command_exited"

// Exited is the data of such an entry.
type Exited struct {
	Command  string `json:"command,omitempty"`
	ExitCode int    `json:"exitCode"`
	// Others says that another command of the session still ran.
	Others bool `json:"others,omitempty"`
	// Run is the number of the run, 0 for a command that is none. Code is then its exit code, nil if it has none, and
	// Signal the signal that ended it.
	Run    int    `json:"run,omitempty"`
	Code   *int   `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// newestOf remembers the newest entries of a session that say what became of it.
func (s *State) newestOf(e *Entry) {
	switch x := s.sessions.get(e.SessionID); {
	case e.Type == TypeExited, e.Type == EntryExited:
		end := e
		if e.exited().Others {
			end = nil // a command runs
		}
		s.exits.put(e.SessionID, end)
	case s.exits.get(e.SessionID) == nil:
	case e.Type == EntryRecovered, e.Type == EntryClaimed, x != nil && e.Source == x.Source():
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

// ShownExitCode returns the exit code to show, nil if the agent of a run has none.
func (e *Entry) ShownExitCode() *int {
	exited := e.exited()
	if exited.Run > 0 {
		return exited.Code
	}
	return &exited.ExitCode
}

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
	if exited.Run > 0 {
		return "its agent ended" + events.HowExited(exited.Code, exited.Signal)
	}
	return fmt.Sprintf("its command ended with exit code %d", exited.ExitCode)
}

// Exit returns the entry for the end of a session's command, nil if the session was heard since, or there is none.
func (s *State) Exit(x *Session) *Entry { return s.exits.get(x.ID) }

package commands

import (
	"strconv"

	"maestro/projections"
)

// leftUnread warns of the answers and messages that a session has not read when somebody ends it.
func leftUnread(s *projections.State, session *projections.Session) []Warning {
	unread, unnamed := 0, 0
	count := func(namesTask bool) {
		if unread++; !namesTask {
			unnamed++
		}
	}
	s.Worked(len(session.Mail))
	for _, m := range session.Mail {
		if m.Notice == "" {
			count(m.About != "")
		}
	}
	for _, id := range s.Undelivered(session.ID) {
		if x := s.Input(id); x != nil {
			count(len(x.TaskIDs) > 0)
		}
	}
	if unread == 0 {
		return nil
	}
	many, sees := strconv.Itoa(unread)+" messages", "sees them"
	if unread == 1 {
		many, sees = "1 message", "sees it"
	}
	after := "whoever takes over its tasks " + sees
	switch {
	case unnamed == unread:
		after = "only a session that is spawned as its successor " + sees + ", because no task is named"
	case unnamed == 1:
		after = "whoever takes over its tasks sees the rest, but 1 names no task, so only a successor of the " +
			"session sees it"
	case unnamed > 1:
		after = "whoever takes over its tasks sees the rest, but " + strconv.Itoa(unnamed) +
			" name no task, so only a successor of the session sees them"
	}
	return []Warning{{
		Text:     sessionNamed(session) + " has not read " + many + ": " + after,
		Sessions: []string{session.ID},
	}}
}

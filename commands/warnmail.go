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
		after = "1 of them names no task, and only a session spawned as its successor sees it; whoever takes over " +
			"its tasks sees the others"
	case unnamed > 1:
		after = strconv.Itoa(unnamed) + " of them name no task, and only a session spawned as its successor sees " +
			"them; whoever takes over its tasks sees the others"
	}
	return []Warning{{
		Text:     sessionNamed(session) + " has not read " + many + ": " + after,
		Sessions: []string{session.ID},
	}}
}

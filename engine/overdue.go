package engine

import (
	"fmt"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// deadline is when a session times out, by the time of its event and on the clock of this process.
type deadline struct {
	at   int64
	over time.Duration
}

// overdue returns the sessions that have timed out, both by the times of events and by the time that has passed since
// this process first saw them. Setting the wall clock forward therefore takes no time from a session.
func (l *Leases) overdue(s *projections.State) []due {
	var found []due
	now := max(events.Instant(l.config.Handler.config.Now()).UnixMilli(), s.At().UnixMilli())
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := l.config.Boot()
	for x := range s.Deadlines() {
		limit := l.deadlines[x.ID]
		if limit.at != x.Deadline { // it is new, or the session was resumed
			limit = deadline{x.Deadline, passed + time.Duration(max(x.Deadline-now, 0))*time.Millisecond}
			l.deadlines[x.ID] = limit
		}
		if passed >= limit.over && now >= x.Deadline {
			found = append(found, due{
				command: &commands.TimeOutSession{SessionID: x.ID},
				key:     fmt.Sprintf("timed out/%s/%d", x.ID, x.Deadline),
			})
		}
	}
	for id := range l.deadlines {
		if x := s.Session(id); x == nil || x.Ended() {
			delete(l.deadlines, id)
		}
	}
	return found
}

package projections

import "maestro/events"

// Tally counts what exists. It is derived from the sessions and queues, so it is not encoded.
type Tally struct {
	// Sessions counts the sessions that were not deleted, by status; those that are lost count in Lost instead.
	Sessions [SessionStates]int
	Lost     int
	// Queues counts the queues, Items their items by status.
	Queues int
	Items  QueueStats
}

// SessionStates is how many statuses a session may have.
const SessionStates = 7

// sessionStates are the statuses in the order of a session's life.
var sessionStates = [SessionStates]events.SessionStatus{
	events.SessionSpawning, events.SessionIdle, events.SessionRunning, events.SessionWorking, events.SessionSaidDone,
	events.SessionStopped, events.SessionEndFailed,
}

// SessionState is a status of Tally.Sessions.
func SessionState(i int) events.SessionStatus { return sessionStates[i] }

// Tally returns the counts of all projects that were not deleted.
func (s *State) Tally() (all Tally) {
	for p := range s.Projects() {
		all.plus(s.tallies.get(p.ID))
	}
	return all
}

func (t *Tally) plus(n Tally) {
	for i := range t.Sessions {
		t.Sessions[i] += n.Sessions[i]
	}
	t.Lost += n.Lost
	t.Queues += n.Queues
	t.addItems(n.Items, 1)
}

// tallySession counts a session that changed; before is nil for a new one.
func (s *State) tallySession(before, after *Session) {
	if before != nil && before.Status == after.Status && before.LostAt == after.LostAt &&
		before.Deleted == after.Deleted && before.EndedAt == after.EndedAt {
		return
	}
	t := s.tallies.get(after.ProjectID)
	t.addSession(before, -1)
	t.addSession(after, 1)
	s.tallies.put(after.ProjectID, t)
}

func (t *Tally) addSession(x *Session, n int) {
	switch {
	case x == nil || x.Deleted:
	case x.Lost() && !x.Ended():
		t.Lost += n
	default:
		for i, status := range sessionStates {
			if status == x.Status {
				t.Sessions[i] += n
			}
		}
	}
}

// tallyQueue counts a queue that changed, with its items; before is nil for a new one.
func (s *State) tallyQueue(before, after *Queue) {
	if before != nil && before.Deleted == after.Deleted && before.Stats == after.Stats {
		return
	}
	t := s.tallies.get(after.ProjectID)
	t.addQueue(before, -1)
	t.addQueue(after, 1)
	s.tallies.put(after.ProjectID, t)
}

func (t *Tally) addQueue(q *Queue, n int) {
	if q == nil || q.Deleted {
		return
	}
	t.Queues += n
	t.addItems(q.Stats, n)
}

func (t *Tally) addItems(items QueueStats, n int) {
	t.Items.Total += n * items.Total
	t.Items.Queued += n * items.Queued
	t.Items.Processing += n * items.Processing
	t.Items.Completed += n * items.Completed
	t.Items.Failed += n * items.Failed
	t.Items.Skipped += n * items.Skipped
	t.Items.Quarantined += n * items.Quarantined
}

// counterOf returns the counter of a status.
func (n *QueueStats) counterOf(status events.QueueItemStatus) *int {
	switch status {
	case events.ItemQueued:
		return &n.Queued
	case events.ItemProcessing:
		return &n.Processing
	case events.ItemCompleted:
		return &n.Completed
	case events.ItemFailed:
		return &n.Failed
	case events.ItemSkipped:
		return &n.Skipped
	case events.ItemQuarantined:
	}
	return &n.Quarantined
}

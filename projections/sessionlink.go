package projections

import (
	"slices"

	"maestro/events"
)

// MaxUnlinked bounds how many tasks that were taken from it a session remembers.
const MaxUnlinked = 100

// Unlinked is a task that was taken from a session.
type Unlinked struct {
	TaskID string `json:"taskId"`
	// By is the source of the event that took it.
	By       string        `json:"by"`
	At       events.Millis `json:"at"`
	Sequence uint64        `json:"sequence"`
}

func (s *State) sessionTaskLinked(f fact, d *events.SessionTaskLinked) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	if s.Task(d.TaskID) == nil {
		return missing("task", d.TaskID)
	}
	s.changeSession(d.SessionID, func(x *Session) {
		x.LastActivity = f.at
		s.work(uint64(len(x.TaskIDs)))
		if !slices.Contains(x.TaskIDs, d.TaskID) {
			fields := x.ownFields()
			fields.TaskIDs = append(slices.Clip(fields.TaskIDs), d.TaskID)
			fields.Unlinked = s.unlinkedWithout(fields.Unlinked, d.TaskID)
		}
	})
	s.changeTask(d.TaskID, func(t *Task) { s.addSession(t, d.SessionID); t.UpdatedAt = f.at })
	s.note(f, 0)
	return nil
}

func (s *State) sessionTaskUnlinked(f fact, d *events.SessionTaskUnlinked) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	if s.tasks.get(d.TaskID) == nil {
		return missing("task", d.TaskID)
	}
	leave := func(ids []string, id string) []string {
		s.work(uint64(len(ids)))
		return slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
	}
	s.changeSession(d.SessionID, func(x *Session) {
		fields := x.ownFields()
		fields.TaskIDs = leave(x.TaskIDs, d.TaskID)
		last := Unlinked{d.TaskID, f.Source, events.Millis(f.at), f.sequence}
		unlinked := append(s.unlinkedWithout(x.Unlinked, d.TaskID), last)
		fields.Unlinked = unlinked[max(0, len(unlinked)-MaxUnlinked):]
		x.LastActivity = f.at
	})
	s.changeTask(d.TaskID, func(t *Task) { t.SessionIDs, t.UpdatedAt = leave(t.SessionIDs, d.SessionID), f.at })
	s.note(f, 0)
	return nil
}

// unlinkedWithout returns a new list without these tasks, nil if it is empty.
func (s *State) unlinkedWithout(list []Unlinked, tasks ...string) []Unlinked {
	if len(list) == 0 {
		return nil
	}
	s.work(uint64(len(list) + len(tasks)))
	given := make(map[string]bool, len(tasks))
	for _, id := range tasks {
		given[id] = true
	}
	var rest []Unlinked
	for _, u := range list {
		if !given[u.TaskID] {
			rest = append(rest, u)
		}
	}
	return rest
}

package projections

import (
	"slices"

	"maestro/events"
)

// DescendantSearch finds a session's descendants that have not ended. [State.FindDescendants] runs it, in as many steps
// as it needs.
type DescendantSearch struct {
	// Living are the found sessions: those that the session spawned, those that these spawned, and so on, including
	// those below one that has ended. Parents come before their children, older ones before younger ones.
	Living []string
	// lists are the children still to be examined, by session.
	lists [][]string
}

// DescentFrom starts to find the sessions below one.
func (s *State) DescentFrom(id string) *DescendantSearch {
	return &DescendantSearch{lists: [][]string{s.spawned.get(id).tasks()}}
}

// FindDescendants continues until the state has counted so many steps, and reports whether it is done.
func (s *State) FindDescendants(d *DescendantSearch, until uint64) (done bool) {
	for ; len(d.lists) > 0; d.lists = d.lists[1:] {
		for list := &d.lists[0]; len(*list) > 0; *list = (*list)[1:] {
			if s.Steps() >= until {
				return false
			}
			child := (*list)[0]
			if x := s.Session(child); x != nil && !x.Ended() {
				d.Living = append(d.Living, child)
			}
			if children := s.spawned.get(child).tasks(); len(children) > 0 {
				d.lists = append(d.lists, children)
				list = &d.lists[0]
			}
		}
	}
	return true
}

// IsBelow reports whether another session spawned this one, directly or not.
func (s *State) IsBelow(id, above string) bool {
	for x := s.SessionEver(id); x != nil && x.SpawnedBy != ""; x = s.SessionEver(x.SpawnedBy) {
		if x.SpawnedBy == above {
			return true
		}
	}
	return false
}

// Leads reports whether an orchestrator leads a session: it spawned it, or it succeeds the one that did. "" leads none.
func (s *State) Leads(above string, x *Session) bool {
	return x != nil && x.SpawnedBy != "" && (x.SpawnedBy == above || s.Succeeds(above, x.SpawnedBy))
}

// Leader returns the orchestrator at work that leads a session: the one that spawned it, or one of the newest sessions
// of that one's first tasks that succeeds it; "" if there is none.
func (s *State) Leader(x *Session) string {
	above := s.SessionEver(x.SpawnedBy)
	if above == nil || above.Active() && !above.Deleted {
		return x.SpawnedBy
	}
	for _, task := range above.TaskIDs[:min(len(above.TaskIDs), mostSucceeded)] {
		t := s.Task(task)
		if t == nil {
			continue
		}
		for _, id := range slices.Backward(t.SessionIDs[max(0, len(t.SessionIDs)-workedLooked):]) {
			s.work(1)
			if y := s.Session(id); y != nil && y.Active() && s.Succeeds(id, above.ID) {
				return id
			}
		}
	}
	return ""
}

// LedBelow reports whether another session leads this one, or one above it.
func (s *State) LedBelow(id, above string) bool {
	for x := s.SessionEver(id); x != nil && x.SpawnedBy != ""; x = s.SessionEver(x.SpawnedBy) {
		if s.Leads(above, x) {
			return true
		}
	}
	return false
}

// Succeeds reports whether an orchestrator took over the work of another: the other one is not at work any more, the
// same session spawned both, or users did, and they have a task in common, in one project. Nobody makes itself a
// successor: only whoever may give work to the one could give it to the other.
func (s *State) Succeeds(id, before string) bool {
	x, o := s.Session(id), s.SessionEver(before)
	if id == before || x == nil || o == nil || o.Active() && !o.Deleted ||
		x.Role != events.RoleOrchestrator || o.Role != events.RoleOrchestrator ||
		x.ProjectID != o.ProjectID || x.SpawnedBy != o.SpawnedBy {
		return false
	}
	s.work(uint64(len(x.TaskIDs) + len(o.TaskIDs)))
	had := make(map[string]bool, len(o.TaskIDs))
	for _, task := range o.TaskIDs {
		had[task] = true
	}
	return slices.ContainsFunc(x.TaskIDs, func(task string) bool { return had[task] })
}

// Successors returns the orchestrators at work that took over from another with one of its first tasks.
func (s *State) Successors(before *Session) (found []string) {
	for _, task := range before.TaskIDs[:min(len(before.TaskIDs), mostSucceeded)] {
		t := s.Task(task)
		if t == nil {
			continue
		}
		s.work(uint64(len(t.SessionIDs)))
		for _, id := range t.SessionIDs {
			y := s.Session(id)
			if y == nil || !y.Active() || y.Role != events.RoleOrchestrator {
				continue
			}
			s.lookedThrough(len(y.TaskIDs))
			if slices.Contains(y.TaskIDs, task) && s.Succeeds(id, before.ID) {
				found = append(found, id)
			}
		}
	}
	return found
}

// HasSpawned reports whether a session ever spawned another one.
func (s *State) HasSpawned(id string) bool { return s.spawned.get(id).len() > 0 }

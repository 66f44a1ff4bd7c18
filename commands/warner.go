package commands

import (
	"maestro/events"
	"maestro/projections"
)

// Warner is a command that may be allowed and still be a mistake. Warnings says what its caller should know about what
// it did; data is its event's, and s the state after it. It has no part in the decision.
type Warner interface {
	Command
	Warnings(s *projections.State, data events.Data) []string
}

// Warnings implements Warner.
func (x *CompleteTask) Warnings(s *projections.State, _ events.Data) []string {
	t := s.Task(x.TaskID)
	if t == nil {
		return nil
	}
	unmet := s.UnmetDependencies(t)
	if len(unmet) == 0 {
		return nil
	}
	named := unmet[:min(len(unmet), belowNamed)]
	return []string{"task " + t.ID + " depends on tasks that are not completed: " + someOf(named, len(unmet))}
}

// Warnings implements Warner.
func (*SpawnSession) Warnings(s *projections.State, data events.Data) (warnings []string) {
	spawned, ok := data.(*events.SessionSpawned)
	if !ok {
		return nil
	}
	for _, id := range spawned.TaskIDs[:min(len(spawned.TaskIDs), belowNamed)] {
		t := s.Task(id)
		switch {
		case t == nil:
			continue
		case t.Status == events.TaskCompleted:
			warnings = append(warnings, "task "+id+" is completed already")
			continue
		}
		for _, other := range t.SessionIDs[max(0, len(t.SessionIDs)-belowNamed):] {
			if x := s.Session(other); other != spawned.SessionID && x != nil && x.Active() {
				warnings = append(warnings, "session "+other+" has task "+id+", too")
			}
		}
	}
	return warnings
}

// Warnings implements Warner.
func (x *PushItem) Warnings(s *projections.State, _ events.Data) []string {
	below, all := s.SomeUnfinished(x.TaskID, belowNamed)
	if all == 0 {
		return nil
	}
	return []string{
		"task " + x.TaskID + " has open tasks below it, and a worker may get it before they are completed: " +
			someOf(below, all),
	}
}

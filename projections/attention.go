package projections

import "maestro/events"

// Tasks and sessions that may need a person are indexed by project, in lines by the sequence of the event that created
// them, so that an inbox does not visit work that waits for its turn or has ended. The index is derived from the tasks
// and sessions, so it is not encoded.

// Over reports whether nobody has to do anything about the task any more.
func (t *Task) Over() bool {
	return t.Deleted || t.Status.Over()
}

// touched reports whether somebody began the task, has it or said something about it, or it is blocked.
func (t *Task) touched() bool {
	return t.Status != events.TaskTodo || len(t.SessionIDs) > 0 || len(t.Says) > 0 || t.earlier() != nil
}

// mayNeedAttention reports whether the inbox has to examine a task: it is open, and it is touched, or everything below
// it has ended, or a queue skipped it, or it waits in vain.
func (s *State) mayNeedAttention(t *Task) bool {
	return !t.Over() && (t.touched() || s.Unfinished(t.ID) == 0 && len(s.children.get(t.ID)) > 0 ||
		s.skipped(t) != nil || s.goneDependency(t) != "")
}

// skipped returns the first item of a task that was skipped after the task's status was last set; nil if there is none.
func (s *State) skipped(t *Task) *Item {
	for _, item := range s.QueuesOf(t.ID) {
		if item.Status == events.ItemSkipped && item.CompletedAt >= t.StatusAt {
			return item
		}
	}
	return nil
}

// gone reports whether nothing completes the task any more, unless it is completed already.
func (t *Task) gone() bool { return t.Deleted || t.Status == events.TaskCancelled }

// goneDependency returns the first dependency of a task that nothing completes any more, and that was not completed
// before; "" if there is none.
func (s *State) goneDependency(t *Task) string {
	s.lookedThrough(len(t.Dependencies))
	for _, id := range t.Dependencies {
		if s.GoneBecause(id) != "" && !s.satisfied(id, false) {
			return id
		}
	}
	return ""
}

// attendDependents updates the index after a task was cancelled or deleted, or is open again.
func (s *State) attendDependents(id string) {
	for _, dependent := range s.dependents.get(id) {
		s.attendTask(dependent)
	}
}

// attendTask updates the index after a task, or what is below it, has changed.
func (s *State) attendTask(id string) {
	t := s.tasks.get(id)
	if t == nil {
		return
	}
	have := s.taskAttention.get(t.ProjectID)
	need, at := s.mayNeedAttention(t), t.CreatedSequence
	if need == have.has(at) {
		return
	}
	s.work(lineCost)
	s.taskAttention.put(t.ProjectID, have.set(at, id, need))
}

// mayNeedAttention reports whether the inbox has to examine a session: it has not ended, or it failed and may have left
// work.
func (x *Session) mayNeedAttention() bool {
	return !x.Deleted && (!x.Ended() || x.Status == events.SessionEndFailed && len(x.TaskIDs) > 0)
}

// attendSession adds a session that the inbox has to examine to the index, or removes one; the event at the sequence
// created it.
func (s *State) attendSession(x *Session, at uint64) {
	s.work(lineCost)
	have := s.sessionAttention.get(x.ProjectID)
	s.sessionAttention.put(x.ProjectID, have.set(at, x.ID, x.mayNeedAttention()))
}

// restoreAttention rebuilds the index from a snapshot. The ids of the events are restored already.
func (s *State) restoreAttention(h *header) {
	for _, t := range h.Tasks {
		s.attendTask(t.ID)
	}
	for _, x := range h.Sessions {
		if x.mayNeedAttention() {
			s.attendSession(x, s.sequenceOf(x.Cause))
		}
	}
}

// WorkersOf names at most so many of the sessions at work that pull from a queue, oldest first.
func (s *State) WorkersOf(project, queue string, most int) (ids []string) {
	visit := s.sessionAttention.get(project).each(func(id string) {
		s.work(1)
		if x := s.Session(id); x != nil && x.Active() && x.Queue == queue {
			ids = append(ids, id)
		}
	})
	for len(ids) < most && visit() {
	}
	return ids
}

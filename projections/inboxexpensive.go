package projections

import (
	"slices"

	"maestro/events"
)

// expensiveWork is the state of an inbox's most expensive work, which runs last.
type expensiveWork struct {
	// failed are the failed sessions, begun the tasks on which perhaps nobody works.
	failed []string
	begun  []begun
	// working caches on which tasks a session works, above whether a session works on a task or above it.
	working, above map[string]bool
	// left are, by failed session, the tasks whose last session it was; leavers are these sessions, in order.
	left    map[string][]*Task
	leavers []string
}

// begun is a task on which work was started; worker is the session whose statement counts for it.
type begun struct{ task, worker string }

func newExpensiveWork() expensiveWork {
	return expensiveWork{working: map[string]bool{}, above: map[string]bool{}, left: map[string][]*Task{}}
}

// begun reports whether work on a task was started, and has not ended.
func (t *Task) begun() bool {
	return t.Status == events.TaskInProgress || t.Status == events.TaskTodo && len(t.SessionIDs) > 0
}

// worked reports whether a session works on a task. It caches the result.
func (b *inbox) worked(t *Task) bool {
	working, known := b.expensive.working[t.ID]
	if !known {
		working = slices.ContainsFunc(t.SessionIDs, func(id string) bool { return b.attends(b.Session(id), t) })
		b.expensive.working[t.ID] = working
	}
	return working
}

// Attends reports whether a session works on a task that it has or had: it says so, or has the task, and the task's
// item in the session's queue has not ended.
func (s *State) Attends(x *Session, t *Task) bool {
	s.work(1)
	if x == nil || !x.Active() {
		return false
	}
	s.lookedThrough(t.Speakers())
	if t.SaidBy(x.ID).Status != "" {
		return true
	}
	s.lookedThrough(len(x.TaskIDs))
	return slices.Contains(x.TaskIDs, t.ID) && (x.Queue == "" || s.Item(x.ProjectID, x.Queue, t.ID) == nil)
}

// lookAtFailed returns a chore that adds the failed sessions that left a task on which nobody works.
func (b *inbox) lookAtFailed() func() (more bool) {
	return finally(func() {
		b.add(each(b.expensive.failed, func(id string) {
			if x := b.Session(id); x != nil {
				b.add(b.leftOver(x))
			}
		}))
	})
}

// leftOver returns a chore that adds a failed session, once it finds a task that the session left.
func (b *inbox) leftOver(x *Session) func() (more bool) {
	ids := x.TaskIDs
	return func() bool {
		if len(ids) == 0 {
			return false
		}
		t := b.Task(ids[0])
		ids = ids[1:]
		if t == nil || t.Over() || t.Status == events.TaskBlocked || b.worked(t) { // a block has its own item
			return len(ids) > 0
		}
		b.find(InboxFailed, x.ID, t.ID, "", x.EndedAt, func() InboxItem {
			return InboxItem{
				SessionID: x.ID,
				TaskID:    first(x.TaskIDs),
				What:      x.Name,
				Message:   x.EndReason,
				Next:      b.afterFailure(x),
			}
		})
		return false
	}
}

// afterFailure returns the steps after a session failed: to learn why, and to give its work to another.
func (b *inbox) afterFailure(x *Session) []string {
	steps := []string{"maestro why " + x.ID}
	if x.Runs != nil { // its agent may continue what it did
		steps = append(steps, resume(x))
	}
	if successor, works := b.SuccessorFor(x); works { // otherwise what it left waits for other tasks
		steps = append(steps, successor)
	}
	return steps
}

// lookAtBegun returns a chore that adds the started tasks on which no session works.
func (b *inbox) lookAtBegun() func() (more bool) {
	return finally(func() {
		b.add(finally(func() { b.add(each(b.expensive.leavers, b.leftBy)) }))
		b.add(each(b.expensive.begun, func(it begun) { // it runs before the other
			if t := b.Task(it.task); t != nil {
				b.unattended(t, it.worker)
			}
		}))
	})
}

// unattended adds a started task on which no session works, or leaves it to a later chore. worker is the session whose
// statement counts for it.
func (b *inbox) unattended(t *Task, worker string) {
	if b.allBelowEnded(t) {
		b.add(b.doneBelow(t, worker))
		return
	}
	b.abandoned(t, worker)
}

// abandoned is unattended without regard to the tasks below.
func (b *inbox) abandoned(t *Task, worker string) {
	if !t.begun() || b.Open(t.ID) > 0 || b.quarantined(t) || b.worksOn(worker, t) || b.worked(t) {
		return
	}
	if len(t.SessionIDs) == 0 {
		if b.Unfinished(t.ID) == 0 {
			b.add(b.unlessWorkedOnAbove(t, func() { b.addUnattended(t, nil, t.StatusAt) }))
		}
		return
	}
	last := b.lastSession(t)
	ended := last.EndedAt
	if !last.Ended() {
		ended = last.CompletedAt
	}
	switch {
	case t.Status == events.TaskTodo && t.StatusAt >= ended && t.StatusSequence > 0:
		if !b.setAside(t) {
			b.inVain(t) // it was put back to be started later
		}
		return
	case !last.Deleted && last.Status == events.SessionEndFailed:
		if b.expensive.left[last.ID] == nil {
			b.expensive.leavers = append(b.expensive.leavers, last.ID)
		}
		b.expensive.left[last.ID] = append(b.expensive.left[last.ID], t)
		return
	}
	b.addUnattended(t, last, max(ended, t.StatusAt))
}

// unlessWorkedOnAbove returns a chore that calls add, unless a session works on a task above. It visits no task twice.
func (b *inbox) unlessWorkedOnAbove(t *Task, add func()) func() (more bool) {
	var climbed []string
	at := t.ParentID
	return func() bool {
		up := b.Task(at)
		worked, known := b.expensive.above[at]
		if up != nil && !known {
			climbed = append(climbed, at)
			if worked = b.worked(up); !worked {
				at = up.ParentID
				return true
			}
		}
		for _, id := range climbed {
			b.expensive.above[id] = worked
		}
		if !worked {
			add()
		}
		return false
	}
}

// leftBy adds the tasks whose last session failed, except those that the session's own item mentions.
func (b *inbox) leftBy(session string) {
	last := b.sessions.get(session)
	left := b.expensive.left[session]
	b.work(uint64(len(left) + len(last.TaskIDs)))
	itsOwn := make(map[string]bool, len(last.TaskIDs))
	for _, id := range last.TaskIDs {
		itsOwn[id] = true
	}
	for _, t := range left {
		if !itsOwn[t.ID] {
			b.addUnattended(t, last, max(last.EndedAt, t.StatusAt))
		}
	}
}

package projections

import (
	"strconv"

	"maestro/events"
)

// unserved adds a named queue in which items can be started and no session works. The wait began when the first of
// them was pushed.
func (b *inbox) unserved(q *Queue) {
	startable, since, first := 0, int64(0), ""
	b.add(finally(func() {
		if startable == 0 {
			return
		}
		b.find(InboxStranded, "", first, q.Name, since, func() InboxItem {
			items := "1 item"
			if startable > 1 {
				items = strconv.Itoa(startable) + " items"
			}
			return InboxItem{
				Queue:   q.Name,
				What:    q.Name,
				Message: items + " can be started, and no session works in the queue",
				Next:    []string{b.spawnFor(q, b.Item(q.ProjectID, q.Name, first).SessionID)},
			}
		})
	}))
	b.add(b.ready.get(queueKey(q.ProjectID, q.Name)).each(func(task string) {
		item := b.Item(q.ProjectID, q.Name, task)
		if item == nil || b.done(task) || !b.inScope("", task) || b.given(b.Task(task), 0, 0) {
			return
		}
		if startable++; startable == 1 || item.AddedAt < since {
			since, first = item.AddedAt, task
		}
	}))
}

// allBelowEnded reports whether an open task has tasks below it, of which none is open.
func (b *inbox) allBelowEnded(t *Task) bool {
	return !b.done(t.ID) && len(b.children.get(t.ID)) > 0 && b.Unfinished(t.ID) == 0
}

// completedBelow reports whether an open task has tasks below it, of which none is open and some are completed:
// doneBelow adds it. Of very many tasks below it examines only the oldest.
func (b *inbox) completedBelow(t *Task) bool {
	if !b.allBelowEnded(t) {
		return false
	}
	for i, id := range b.children.get(t.ID) {
		b.work(1)
		if child := b.Task(id); child != nil && child.Status == events.TaskCompleted {
			return true
		}
		if i == mostLooked {
			break
		}
	}
	return false
}

// doneBelow returns a chore that adds an open task below which everything is done, unless somebody works on it. The
// wait began when the last task below it was completed. If the task was reopened after that, it lacks something itself:
// its own work comes first.
func (b *inbox) doneBelow(t *Task, worker string) func() (more bool) {
	if t.Status == events.TaskBlocked || b.Open(t.ID) > 0 || b.worksOn(worker, t) || b.worked(t) {
		return func() bool { return false }
	}
	completed, since, reopened := 0, t.StatusAt, t.Reopened
	b.add(finally(func() {
		if completed == 0 {
			b.abandoned(t, worker)
			return
		}
		b.add(b.unlessWorkedOnAbove(t, func() {
			b.find(InboxUnattended, "", t.ID, "", since, func() InboxItem {
				item := InboxItem{
					TaskID:  t.ID,
					What:    t.Title,
					Message: "all tasks below it are completed",
					Next:    []string{"maestro task complete " + t.ID},
				}
				switch last := b.lastWorked(t); {
				case reopened:
					const why = "it was reopened after all tasks below it were completed"
					item.Message = textOf(why, t.StatusReasonText())
					item.Next = append(b.spawn(t), item.Next...)
				case last != nil && last.Ended() && last.DoneSequence == 0: // it may have meant to do more
					item.SessionID = last.ID
					had := ", and session " + last.ID + ", which had it, is " + string(last.Status)
					item.Message += textOf(had, last.EndReason)
					item.Next = append(item.Next, b.spawn(t)...)
				}
				return item
			})
		}))
	}))
	return each(b.children.get(t.ID), func(id string) {
		if child := b.Task(id); child != nil && child.Status == events.TaskCompleted {
			completed++
			since = max(since, child.StatusAt)
			reopened = reopened && child.StatusSequence < t.StatusSequence
		}
	})
}

package projections

import (
	"cmp"
	"slices"
)

// stalledLooked bounds the waiting items of a queue that are examined for what they wait for.
const stalledLooked = 100

// stalled adds the task that the items of a queue wait for, if none can be started or is held, and nobody has that
// task: they would wait for ever, whether or not a session works in the queue. The wait began when the item was pushed.
func (b *inbox) stalled(q *Queue) {
	key := queueKey(q.ProjectID, q.Name)
	if q.Stats.Queued == 0 || q.Stats.Processing > 0 || b.ready.get(key).len() > 0 {
		return
	}
	var on *Task
	var since int64
	looked := 0
	b.add(finally(func() {
		if on == nil {
			return
		}
		b.find(InboxStuck, q.SessionID, on.ID, q.Name, since, func() InboxItem {
			item := InboxItem{
				TaskID:  on.ID,
				Queue:   q.Name,
				What:    on.Title,
				Message: "every item of queue " + q.Name + " waits, and nobody has this task, which has to come first",
				Next:    b.spawn(on),
			}
			if q.SessionID == "" {
				item.Next = append([]string{"maestro queue push " + on.ID + " --queue " + q.Name}, item.Next...)
			}
			return item
		})
	}))
	b.add(b.waiting.get(key).each(func(task string) {
		if on != nil || looked == stalledLooked {
			return
		}
		looked++
		item, t := b.Item(q.ProjectID, q.Name, task), b.Task(task)
		if item != nil && t != nil && !t.Over() && b.goneDependency(t) == "" { // else it is stuck, and listed so
			on, since = b.leftToStart(t), item.AddedAt
		}
	}))
}

// leftToStart returns a task that has to be completed before another and that nobody has, nil if there is none. It
// follows one chain: of what a task depends on, and of what is open below that.
func (b *inbox) leftToStart(t *Task) *Task {
	const longest = 100
	before := t.Dependencies
	for range longest {
		var next *Task
		for _, id := range before {
			on := b.Task(id)
			switch {
			case on == nil || on.Over() || b.Open(id) > 0:
			case !b.mayLook(on):
				return nil
			case b.Unfinished(id) > 0 && b.worked(on): // whoever works on it gives out what is below it
			case b.Unfinished(id) > 0:
				next = cmp.Or(next, on)
			case on.touched(), b.allBelowEnded(on): // the inbox shows what it needs
			case b.Startable(on):
				return on
			default:
				next = cmp.Or(next, on)
			}
		}
		if next == nil {
			return nil
		}
		before, _ = b.SomeUnfinished(next.ID, MostNamed)
		before = slices.Concat(before, next.Dependencies)
	}
	return nil
}

// mayLook reports whether the inbox may still examine the dependencies of a task, and counts them.
func (b *inbox) mayLook(t *Task) bool {
	b.looks -= len(t.Dependencies)
	b.work(uint64(1 + len(t.Dependencies)))
	return b.looks >= 0
}

package projections

import (
	"strconv"
	"strings"

	"maestro/events"
)

// stuck adds queue items that wait for something that will not happen. One item counts those with too many dependencies
// to examine.
func (b *inbox) stuck(q *Queue) {
	unseen, since := 0, int64(0)
	b.add(finally(func() {
		if unseen > 0 {
			b.unseen(q, unseen, since)
		}
	}))
	b.add(b.waiting.get(queueKey(q.ProjectID, q.Name)).each(func(task string) {
		t, item := b.Task(task), b.Item(q.ProjectID, q.Name, task)
		switch {
		case t == nil || item == nil || t.Over():
		case len(t.Dependencies) > b.looks:
			if unseen++; unseen == 1 || item.AddedAt < since {
				since = item.AddedAt
			}
		default:
			b.looks -= len(t.Dependencies)
			gone := b.goneSince(t, q.TrustReports)
			if gone == 0 {
				break
			}
			b.find(InboxStuck, q.SessionID, task, q.Name, max(item.AddedAt, gone), func() InboxItem {
				return InboxItem{
					TaskID:  task,
					Queue:   q.Name,
					What:    b.titleOf(task),
					Message: b.WaitsFor(q, item),
					Next:    []string{b.dropGone(t)},
				}
			})
		}
	}))
}

// inVain adds a task that nobody has started and that depends on one that nothing completes any more. A queued one is
// found with its queue.
func (b *inbox) inVain(t *Task) {
	if b.Open(t.ID) > 0 {
		return
	}
	on := b.tasks.get(b.goneDependency(t))
	if on == nil {
		return
	}
	b.find(InboxStuck, "", t.ID, "", max(t.CreatedAt, b.goneSince(t, false)), func() InboxItem {
		return InboxItem{
			TaskID:  t.ID,
			What:    t.Title,
			Message: "waits for " + on.ID + " (" + b.GoneBecause(on.ID) + ")",
			Next:    []string{b.dropGone(t)},
		}
	})
}

// goneSince returns when the first dependency of a task was lost that nothing completes any more, 0 if there is none;
// trust says that a report completes one.
func (s *State) goneSince(t *Task, trust bool) (since int64) {
	for _, id := range t.Dependencies {
		on := s.tasks.get(id)
		if on == nil || !on.gone() || s.satisfied(id, trust) {
			continue
		}
		at := on.UpdatedAt // a deleted task does not change any more
		if on.Status == events.TaskCancelled {
			at = on.StatusAt
		}
		if since == 0 || at < since {
			since = at
		}
	}
	return since
}

// dropGone returns the command that removes dependencies that nothing completes any more.
func (s *State) dropGone(t *Task) string {
	var ids []string
	for _, gone := range s.GoneDependencies(t) {
		if len(ids) < WaitsNamed && !s.satisfied(gone.TaskID, false) {
			ids = append(ids, gone.TaskID)
		}
	}
	return "maestro task update " + t.ID + " --remove-depends-on " + strings.Join(ids, ",")
}

// unseen adds the item that counts a queue's items with too many dependencies to examine.
func (b *inbox) unseen(q *Queue, items int, since int64) {
	b.find(InboxUnread, q.SessionID, "", q.Name, since, func() InboxItem {
		return InboxItem{
			Queue: q.Name,
			What:  q.Name,
			Message: "of " + strconv.Itoa(items) +
				" waiting items, the inbox did not check whether their dependencies can still be completed: " +
				"they have too many",
			Next: []string{"maestro queue list --project " + q.ProjectID + " --queue " + q.Name},
		}
	})
}

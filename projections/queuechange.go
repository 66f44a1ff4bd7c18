package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// Line returns the queued items of a queue in the order in which they are started, whether they wait for something or
// not.
func (s *State) Line(q *Queue) []*Item {
	key := queueKey(q.ProjectID, q.Name)
	items := make([]*Item, 0, q.Stats.Queued)
	for _, lines := range []*table[line]{&s.ready, &s.waiting} {
		lines.get(key).walk(func(task string) bool {
			items = append(items, s.Item(q.ProjectID, q.Name, task))
			return true
		})
	}
	s.work(uint64(len(items)))
	slices.SortFunc(items, func(a, b *Item) int { return cmp.Compare(a.Place, b.Place) })
	return items
}

func (s *State) itemMoved(f fact, d *events.QueueItemMoved) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQueued)
	if err != nil {
		return err
	}
	key := queueKey(f.Project, d.Queue)
	if d.Before == "" {
		var place uint64
		s.changeQueue(key, func(q *Queue) {
			q.Pushed++
			place = q.Pushed | notReturned
		})
		s.changeItem(f, item, func(i *Item) { i.Place, i.Cause = place, f.cause() })
	} else {
		if _, err := s.item(f, d.Queue, d.Before, events.ItemQueued); err != nil {
			return err
		}
		s.moveBefore(f, s.queues.get(key), item, d.Before)
	}
	s.note(f, 0)
	return nil
}

// moveBefore puts a queued item before another. The places stay, and the items between get other ones.
func (s *State) moveBefore(f fact, q *Queue, item *Item, before string) {
	key := queueKey(q.ProjectID, q.Name)
	old := s.Line(q)
	moved := slices.DeleteFunc(slices.Clone(old), func(i *Item) bool { return i.TaskID == item.TaskID })
	at := slices.IndexFunc(moved, func(i *Item) bool { return i.TaskID == before })
	moved = slices.Insert(moved, max(at, 0), item)
	for _, i := range old {
		s.leaveLine(key, i.Place)
	}
	for n, i := range moved {
		id := itemKey(i.ProjectID, i.Queue, i.TaskID)
		s.unsettled.queued = append(s.unsettled.queued, id)
		if i.Place == old[n].Place {
			continue
		}
		after := *i
		if after.Place = old[n].Place; i.TaskID == item.TaskID {
			after.Cause = f.cause()
		}
		s.changes = append(s.changes, Change{KindQueueItem, id, i, &after})
		s.items.put(id, &after)
	}
	s.changeQueue(key, func(q *Queue) { q.UpdatedAt = f.at })
}

func (s *State) itemRemoved(f fact, d *events.QueueItemRemoved) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQueued, events.ItemCompleted, events.ItemFailed,
		events.ItemSkipped, events.ItemQuarantined)
	if err != nil {
		return err
	}
	s.removeItem(f, item)
	s.note(f, 0)
	return nil
}

// removeItem removes an item from its queue and all counts.
func (s *State) removeItem(f fact, item *Item) {
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.CompletedAt, i.Cause, i.Removed = events.ItemSkipped, f.at, f.cause(), true
	})
	s.changeQueue(queueKey(item.ProjectID, item.Queue), func(q *Queue) {
		q.Stats.Skipped--
		q.Stats.Total--
	})
}

// pushAgain appends an item that was removed. Its former holder is kept.
func (s *State) pushAgain(f fact, before, item *Item) {
	key := queueKey(item.ProjectID, item.Queue)
	s.changeQueue(key, func(q *Queue) { // push counted it, and changeItem does too
		q.Stats.Queued--
		q.Stats.Skipped++
	})
	s.changeItem(f, before, func(i *Item) {
		holders := i.Holders
		*i = *item
		i.Holders = holders
	})
}

func (s *State) queueDeleted(f fact, d *events.QueueDeleted) error {
	q := s.Queue(f.Project, d.Queue)
	if q == nil {
		return missing("queue", d.Queue)
	}
	for _, item := range s.Items(q) {
		if item.Status != events.ItemProcessing {
			s.removeItem(f, item)
		}
	}
	key := queueKey(f.Project, d.Queue)
	s.changeQueue(key, func(q *Queue) { q.Deleted, q.UpdatedAt = true, f.at })
	s.trusting = without(s.trusting, []string{key})
	return nil
}

package projections

import (
	"slices"

	"maestro/events"
)

// MaxTrusted bounds the queued or held items of a project in queues that trust reports, and so what a session's
// statement, or its end, can make startable.
const MaxTrusted = 10_000

// unsettled holds what an event changed that may make items startable, or no longer startable. [State.settle] examines
// all of it at the end of the event, each task once.
type unsettled struct {
	// queued are keys of newly queued items.
	queued []string
	// opened counts items that became queued or held, or ended, by task.
	opened []opening
	// moved are tasks that changed themselves.
	moved []string
	// met are tasks that now satisfy a dependency, or no longer do; spoken those that may, where reports are trusted.
	met, spoken []string
}

type opening struct {
	task string
	by   int
}

func isOpen(status events.QueueItemStatus) bool {
	return status == events.ItemQueued || status == events.ItemProcessing
}

// waits counts a task's queued or held items, and the dependencies that they wait for.
type waits struct {
	items int
	// unmet counts the unsatisfied dependencies, without and with trust in reports. A count is valid if it was made in
	// the state's era.
	unmet [2]int32
	era   [2]uint32
}

// awaiting counts the queued or held items that wait for a task, and says whether it satisfies them, without and with
// trust in reports. Known values are updated as long as an item waits.
type awaiting struct {
	items      int
	known, met [2]bool
}

// opens counts an item that became queued or held, or that ended.
func (s *State) opens(item *Item, by int) {
	u := &s.unsettled
	if last := len(u.opened) - 1; last >= 0 && u.opened[last].task == item.TaskID {
		u.opened[last].by += by
	} else {
		u.opened = append(u.opened, opening{item.TaskID, by})
	}
	if s.queues.get(queueKey(item.ProjectID, item.Queue)).TrustReports {
		s.trusted.put(item.ProjectID, s.trusted.get(item.ProjectID)+by)
	}
}

// listOpen updates the list of a task's items that are queued or held. Removing the first costs nothing, so removing
// all one after the other is cheap.
func (s *State) listOpen(item *Item, key string, is bool) {
	keys := s.openOf.get(item.TaskID)
	at, _ := slices.BinarySearch(keys, key)
	switch {
	case is:
		keys = slices.Insert(slices.Clone(keys), at, key)
	case at == 0:
		keys = keys[1:]
	default:
		keys = slices.Delete(slices.Clone(keys), at, at+1)
	}
	if at > 0 || is {
		s.lookedThrough(len(keys))
	}
	if len(keys) == 0 {
		keys = nil
	}
	s.openOf.put(item.TaskID, keys)
}

// Open counts the items of a task that are queued or held.
func (s *State) Open(task string) int { return s.open.get(task).items }

// Awaited counts the items, queued or held, of the tasks that depend on one.
func (s *State) Awaited(task string) int { return s.awaited.get(task).items }

// Trusted counts the items, queued or held, in the queues of a project that trust reports.
func (s *State) Trusted(project string) int { return s.trusted.get(project) }

// settle puts the items that an event affects into the right lines.
func (s *State) settle() {
	u := &s.unsettled
	for _, o := range u.opened {
		if o.by == 0 {
			continue
		}
		w := s.open.get(o.task)
		if w.items += o.by; w.items == 0 {
			w = waits{}
		}
		s.open.put(o.task, w)
		if t := s.tasks.get(o.task); t != nil {
			s.await(t.Dependencies, o.by)
		}
	}
	l := look{state: s}
	l.turn(u.met, u.spoken) // first, because the others use its counts
	for _, key := range u.queued {
		l.lineUp(s.items.get(key))
	}
	for _, task := range u.moved {
		l.at(task)
	}
	l.move()
	*u = unsettled{u.queued[:0], u.opened[:0], u.moved[:0], u.met[:0], u.spoken[:0]}
}

// await changes the count of what waits for tasks. A task that is named twice counts once.
func (s *State) await(dependencies []string, by int) {
	if by == 0 {
		return
	}
	for id := range once(dependencies) {
		a := s.awaited.get(id)
		if a.items += by; a.items == 0 {
			a = awaiting{}
		}
		s.awaited.put(id, a)
	}
}

// countAnew invalidates the count of a task's unmet dependencies.
func (s *State) countAnew(task string) {
	if w := s.open.get(task); w.items > 0 {
		s.open.put(task, waits{items: w.items})
	}
}

func index(trust bool) int {
	if trust {
		return 1
	}
	return 0
}

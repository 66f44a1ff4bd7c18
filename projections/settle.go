package projections

import (
	"slices"

	"maestro/events"
)

// MaxTrusted is how many items that are queued or held a project has in queues that trust reports. It bounds what a
// session's word, or its end, can set free.
const MaxTrusted = 10_000

// unsettled is what an event changed that lets items start, or keeps them from it. [State.settle] looks at all of it at
// the end of the event, at each task once.
type unsettled struct {
	// queued are keys of items that came into the line.
	queued []string
	// opened counts items that came to be queued or held, or ended, by their task.
	opened []opening
	// moved are tasks that changed themselves.
	moved []string
	// met are tasks that satisfy a dependency since, or no longer do; spoken those that may where reports are trusted.
	met, spoken []string
}

type opening struct {
	task string
	by   int
}

func isOpen(status events.QueueItemStatus) bool {
	return status == events.ItemQueued || status == events.ItemProcessing
}

// waits says how many items of a task are queued or held, and for how much they wait.
type waits struct {
	items int
	// unmet counts the dependencies that are not satisfied, without and with trust in reports. A count is valid if it
	// was made in the state's era.
	unmet [2]int32
	era   [2]uint32
}

// awaiting says how many items, queued or held, wait for a task, and whether it satisfies them, without and with
// trust in reports. What is known is kept up to date as long as an item waits.
type awaiting struct {
	items      int
	known, met [2]bool
}

// opens counts an item that came to be queued or held, or that ended.
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

// listOpen keeps the list of a task's items that are queued or held. Taking away the first costs nothing, so taking
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

// settle puts the items that an event concerns into the lines where they belong.
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
	l.turn(u.met, u.spoken) // first, for the others look at what it counts
	for _, key := range u.queued {
		l.lineUp(s.items.get(key))
	}
	for _, task := range u.moved {
		l.at(task)
	}
	l.move()
	*u = unsettled{u.queued[:0], u.opened[:0], u.moved[:0], u.met[:0], u.spoken[:0]}
}

// await moves the count of what waits for tasks. A task that is named twice is waited for once.
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

// countAnew forgets for how many dependencies a task waits.
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

package projections

import "maestro/events"

// MaxTrusted is how many items that are queued or in hand a project has in queues that trust reports. It bounds what a
// session's word, or its end, can set free.
const MaxTrusted = 10_000

// unsettled is what an event changed that lets items start, or keeps them from it. [State.settle] looks at all of it at
// the end of the event, at each task once.
type unsettled struct {
	// queued are keys of items that came into the line.
	queued []string
	// opened counts items that came to be queued or in hand, or ended, by their task.
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

// opens counts an item that came to be queued or in hand, or that ended.
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

// Open counts the items of a task that are queued or in hand.
func (s *State) Open(task string) int { return s.open.get(task) }

// Awaited counts the items, queued or in hand, of the tasks that depend on one.
func (s *State) Awaited(task string) int { return s.awaited.get(task) }

// Trusted counts the items, queued or in hand, in the queues of a project that trust reports.
func (s *State) Trusted(project string) int { return s.trusted.get(project) }

// settle puts the items that an event concerns into the lines where they belong.
func (s *State) settle() {
	u := &s.unsettled
	for _, o := range u.opened {
		if o.by == 0 {
			continue
		}
		s.open.put(o.task, s.open.get(o.task)+o.by)
		if t := s.tasks.get(o.task); t != nil {
			s.await(t.Dependencies, o.by)
		}
	}
	l := look{state: s}
	for _, key := range u.queued {
		l.lineUp(s.items.get(key))
	}
	for _, task := range u.moved {
		l.at(task)
	}
	for _, task := range u.met {
		l.atDependents(task)
	}
	l.atListeners(u.spoken)
	*u = unsettled{u.queued[:0], u.opened[:0], u.moved[:0], u.met[:0], u.spoken[:0]}
}

// await moves the count of what waits for tasks. A task that is named twice is waited for once.
func (s *State) await(dependencies []string, by int) {
	if by == 0 {
		return
	}
	for id := range once(dependencies) {
		s.awaited.put(id, s.awaited.get(id)+by)
	}
}

// look is one look at the items that an event concerns.
type look struct {
	state *State
	seen  map[string]bool
	// met says which dependencies are satisfied: without and with trust in reports.
	met [2]map[string]bool
}

// at looks at a task's queued items.
func (l *look) at(task string) {
	if l.seen[task] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[task] = true
	if l.state.open.get(task) == 0 {
		return
	}
	var known [2]struct{ asked, may bool }
	for _, key := range l.state.itemsOf.get(task) {
		item := l.state.items.get(key)
		if item.Status != events.ItemQueued {
			continue
		}
		queue := queueKey(item.ProjectID, item.Queue)
		trust := l.state.queues.get(queue).TrustReports
		answer := &known[index(trust)]
		if !answer.asked {
			answer.asked, answer.may = true, l.mayStart(task, trust)
		}
		l.state.lineUp(queue, item, answer.may)
	}
}

// atDependents looks at the tasks that depend on one.
func (l *look) atDependents(task string) {
	if l.state.awaited.get(task) == 0 {
		return
	}
	for _, id := range l.state.dependents.get(task) {
		l.state.work(1)
		l.at(id)
	}
}

// atListeners looks at the tasks that depend on these and stand in queues that trust reports: from the tasks, or where
// more tasks depend on them than can stand there, from the queues.
func (l *look) atListeners(spoken []string) {
	dependents := 0
	for _, task := range spoken {
		if l.state.awaited.get(task) > 0 {
			dependents += len(l.state.dependents.get(task))
		}
	}
	if dependents <= MaxTrusted {
		for _, task := range spoken {
			l.atDependents(task)
		}
		return
	}
	projects := map[string]bool{}
	for _, task := range spoken {
		projects[l.state.TaskProject(task)] = true
	}
	for _, key := range l.state.trusting {
		if !projects[l.state.queues.get(key).ProjectID] {
			continue
		}
		var tasks []string // at changes the lines
		for _, line := range []line{l.state.ready.get(key), l.state.waiting.get(key)} {
			line.walk(func(task string) bool { tasks = append(tasks, task); return true })
		}
		for _, task := range tasks {
			l.at(task)
		}
	}
}

// lineUp puts an item that came into the line where it belongs.
func (l *look) lineUp(item *Item) {
	if item.Status != events.ItemQueued {
		return
	}
	queue := queueKey(item.ProjectID, item.Queue)
	l.state.lineUp(queue, item, l.mayStart(item.TaskID, l.state.queues.get(queue).TrustReports))
}

func (l *look) mayStart(task string, trust bool) bool {
	t := l.state.Task(task)
	if t == nil || t.Status != events.TaskTodo && t.Status != events.TaskInProgress {
		return false
	}
	met := &l.met[index(trust)]
	for _, id := range t.Dependencies {
		is, known := (*met)[id]
		if !known {
			if *met == nil {
				*met = map[string]bool{}
			}
			is = l.state.satisfied(id, trust)
			(*met)[id] = is
		}
		if !is {
			return false
		}
	}
	return true
}

func index(trust bool) int {
	if trust {
		return 1
	}
	return 0
}

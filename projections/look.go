package projections

import "maestro/events"

// mostDependencies bounds the dependencies of a task, and so the cost of counting them again.
const mostDependencies = 200

// look is one pass over the items that an event affects.
type look struct {
	state *State
	seen  map[string]bool
	// counted are the examined dependencies, without and with trust in reports; counts is how many times they were
	// counted.
	counted [2]map[string]dependency
	counts  int
	// lines are those of the visited queues, in this order.
	lines   []*queueLines
	linesOf map[string]*queueLines
}

// queueLines are a queue's lines, and what moves between them at the end of the pass.
type queueLines struct {
	project, queue string
	trust          bool
	// were are the startable items, the waiting ones, and those of them that never start; to is what joins each, and
	// from what leaves it.
	were     [3]line
	to, from [3][]placed
}

// The lines of a queue, as indexes of queueLines.
const (
	lineReady = iota
	lineWaiting
	lineOver
)

type dependency struct {
	met bool
	// last is the position where it was last counted: a task that is named twice counts once.
	last int
}

// dependencyChange is a task that an event made satisfy its dependents, or no longer satisfy them: by is the change of
// what each of them lacks, without and with trust in reports.
type dependencyChange struct {
	task string
	by   [2]int32
}

// turn recounts what the dependents of these tasks lack, and examines those that now lack nothing, or newly lack
// something: each once, however many dependencies it has.
func (l *look) turn(met, spoken []string) {
	hubs, said := l.dependencyChanges(met), l.dependencyChanges(spoken)
	if l.recountIsLess(said) {
		l.state.era[1]++
		l.addUp(hubs)
		l.recount(said)
		return
	}
	l.addUp(append(hubs, said...))
}

// addUp adds up what each task lacks of these dependencies.
func (l *look) addUp(hubs []dependencyChange) {
	if len(hubs) == 1 { // most events
		for _, id := range l.state.dependents.get(hubs[0].task) {
			l.state.work(1)
			l.lacks(id, hubs[0].by)
		}
		return
	}
	var dependents []dependencyChange
	at := map[string]int{}
	for _, hub := range hubs {
		for _, id := range l.state.dependents.get(hub.task) {
			l.state.work(1)
			i, known := at[id]
			if !known {
				i = len(dependents)
				at[id] = i
				dependents = append(dependents, dependencyChange{task: id})
			}
			for trust, by := range hub.by {
				dependents[i].by[trust] += by
			}
		}
	}
	for _, d := range dependents {
		l.lacks(d.task, d.by)
	}
}

// dependencyChanges returns the tasks that now satisfy their dependents, or no longer do.
func (l *look) dependencyChanges(tasks []string) (hubs []dependencyChange) {
	for _, id := range tasks {
		a := l.state.awaited.get(id)
		hub := dependencyChange{task: id}
		for trust := range a.met {
			if !a.known[trust] {
				continue
			}
			if met := l.state.satisfied(id, trust == 1); met != a.met[trust] {
				a.met[trust] = met
				hub.by[trust] = int32(1 - 2*index(met)) //nolint:gosec // 1 or -1
			}
		}
		if hub.by != [2]int32{} {
			l.state.awaited.put(id, a)
			hubs = append(hubs, hub)
		}
	}
	return hubs
}

// lacks changes what a task lacks, and examines its items if they may now start, or no longer.
func (l *look) lacks(task string, by [2]int32) {
	w := l.state.open.get(task)
	if w.items == 0 {
		return
	}
	changed := false
	for trust, n := range by {
		switch was := w.unmet[trust]; {
		case n == 0:
		case w.era[trust] != l.state.era[trust]:
			changed = true
		default:
			w.unmet[trust] += n
			changed = changed || (was == 0) != (w.unmet[trust] == 0)
		}
	}
	l.state.open.put(task, w)
	if changed {
		l.at(task)
	}
}

// recountIsLess reports whether it is less work to examine all items in the queues that trust reports than the
// dependents of these tasks.
func (l *look) recountIsLess(hubs []dependencyChange) bool {
	dependents := 0
	for _, hub := range hubs {
		dependents += len(l.state.dependents.get(hub.task))
	}
	if dependents <= mostDependencies {
		return false
	}
	trusted := 0
	for project := range l.projectsOf(hubs) {
		trusted += l.state.trusted.get(project)
	}
	return dependents > trusted*mostDependencies
}

func (l *look) projectsOf(hubs []dependencyChange) map[string]bool {
	projects := map[string]bool{}
	for _, hub := range hubs {
		projects[l.state.TaskProject(hub.task)] = true
	}
	return projects
}

// recount examines the items in those queues of these tasks' projects that trust reports.
func (l *look) recount(hubs []dependencyChange) {
	projects := l.projectsOf(hubs)
	for _, key := range l.state.trusting {
		if !projects[l.state.queues.get(key).ProjectID] {
			continue
		}
		for _, line := range []line{l.state.ready.get(key), l.state.waiting.get(key)} {
			line.walk(func(task string) bool {
				l.state.work(1)
				l.at(task)
				return true
			})
		}
	}
}

// at examines a task's queued items.
func (l *look) at(task string) {
	if l.seen[task] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[task] = true
	if l.state.open.get(task).items == 0 {
		return
	}
	var known [2]struct{ asked, may bool }
	for _, key := range l.state.openOf.get(task) {
		item := l.state.items.get(key)
		if item.Status != events.ItemQueued {
			continue
		}
		queue := l.linesWith(item)
		answer := &known[index(queue.trust)]
		if !answer.asked {
			answer.asked, answer.may = true, l.mayStart(task, queue.trust)
		}
		l.put(queue, item, answer.may)
	}
}

// lineUp puts a newly queued item into the right line.
func (l *look) lineUp(item *Item) {
	if item.Status == events.ItemQueued {
		queue := l.linesWith(item)
		l.put(queue, item, l.mayStart(item.TaskID, queue.trust))
	}
}

// linesWith returns the lines of an item's queue.
func (l *look) linesWith(item *Item) *queueLines {
	if n := len(l.lines); n > 0 && l.lines[n-1].project == item.ProjectID && l.lines[n-1].queue == item.Queue {
		return l.lines[n-1]
	}
	key := queueKey(item.ProjectID, item.Queue)
	l.state.work(1)
	queue := l.linesOf[key]
	if queue == nil {
		queue = &queueLines{
			project: item.ProjectID,
			queue:   item.Queue,
			trust:   l.state.queues.get(key).TrustReports,
			were:    [3]line{l.state.ready.get(key), l.state.waiting.get(key), l.state.over.get(key)},
		}
		if l.linesOf == nil {
			l.linesOf = map[string]*queueLines{}
		}
		l.linesOf[key] = queue
		l.lines = append(l.lines, queue)
	}
	return queue
}

// put moves an item into the lines that it belongs to, and out of the others.
func (l *look) put(queue *queueLines, item *Item, mayStart bool) {
	l.belongs(queue, lineReady, item, mayStart)
	l.belongs(queue, lineWaiting, item, !mayStart)
	l.belongs(queue, lineOver, item, doneWith(l.state.Task(item.TaskID)))
}

// belongs makes an item join a line, or leave it.
func (l *look) belongs(queue *queueLines, line int, item *Item, is bool) {
	if queue.were[line].has(item.Place) == is {
		return
	}
	at := placed{item.Place, item.TaskID}
	if is {
		queue.to[line] = append(queue.to[line], at)
	} else {
		queue.from[line] = append(queue.from[line], at)
	}
	l.state.work(lineCost)
}

// move applies what was put.
func (l *look) move() {
	for _, queue := range l.lines {
		key := queueKey(queue.project, queue.queue)
		moved := false
		for at, table := range []*table[line]{&l.state.ready, &l.state.waiting, &l.state.over} {
			if len(queue.to[at])+len(queue.from[at]) > 0 {
				table.put(key, queue.were[at].withoutAll(queue.from[at]).withAll(queue.to[at]))
				moved = true
			}
		}
		if moved {
			l.state.linesMoved = append(l.state.linesMoved, key)
		}
	}
}

func (l *look) mayStart(task string, trust bool) bool {
	t := l.state.Task(task)
	if t == nil || t.Status != events.TaskTodo && t.Status != events.TaskInProgress {
		return false
	}
	w, at := l.state.open.get(task), index(trust)
	if w.era[at] != l.state.era[at] {
		w.unmet[at], w.era[at] = l.unmet(t, trust), l.state.era[at]
		l.state.open.put(task, w)
	}
	return w.unmet[at] == 0
}

// unmet counts the dependencies of a task that are not satisfied.
func (l *look) unmet(t *Task, trust bool) (unmet int32) {
	counted := &l.counted[index(trust)]
	if *counted == nil {
		*counted = map[string]dependency{}
	}
	l.counts++
	for _, id := range t.Dependencies {
		l.state.work(1)
		d, known := (*counted)[id]
		if !known {
			d.met = l.met(id, trust)
		}
		if d.last == l.counts {
			continue
		}
		d.last = l.counts
		(*counted)[id] = d
		if !d.met {
			unmet++
		}
	}
	return unmet
}

// met reports whether a task satisfies the items that wait for it.
func (l *look) met(id string, trust bool) bool {
	a, at := l.state.awaited.get(id), index(trust)
	if !a.known[at] {
		a.known[at], a.met[at] = true, l.state.satisfied(id, trust)
		l.state.awaited.put(id, a)
	}
	return a.met[at]
}

// doneWith reports whether nobody starts a task any more: it is completed, cancelled or deleted.
func doneWith(t *Task) bool {
	return t == nil || t.Over()
}

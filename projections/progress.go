package projections

import "maestro/events"

// Progress counts the leaves below a task: the tasks with nothing further below them. What was deleted does not count,
// and a parent counts for what is below it, not for itself.
type Progress struct {
	// Total is what is to be done, or is done: all leaves but the cancelled ones.
	Total     int `json:"total"`
	Completed int `json:"completed"`
	// Said are those that an agent says are done and nobody has confirmed.
	Said int `json:"said"`
	// Blocked are those that are blocked, or of which that is said; Failed those of which that is said.
	Blocked   int `json:"blocked"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// ProgressKnown remembers the progress of tasks with something below them, so that a list of tasks looks at each once.
type ProgressKnown map[string]Progress

// Progress sums up what lies below a task, nil when nothing does.
func (s *State) Progress(t *Task) *Progress {
	var sum Progress
	if !s.sumBelow(t.ID, &sum, nil) {
		return nil
	}
	return &sum
}

// sumBelow adds what lies below a task, and reports whether anything does.
func (s *State) sumBelow(task string, sum *Progress, known ProgressKnown) (any bool) {
	if below, ok := known[task]; ok {
		sum.add(below)
		return true
	}
	var below Progress
	for _, id := range s.children.get(task) {
		child := s.Task(id)
		if child == nil {
			continue
		}
		any = true
		if !s.sumBelow(id, &below, known) {
			says, _ := s.SessionStatus(child)
			below.count(child.Status, says)
		}
	}
	if any && known != nil {
		known[task] = below
	}
	sum.add(below)
	return any
}

func (p *Progress) add(below Progress) {
	p.Total += below.Total
	p.Completed += below.Completed
	p.Said += below.Said
	p.Blocked += below.Blocked
	p.Failed += below.Failed
	p.Cancelled += below.Cancelled
}

// count adds a leaf. The authoritative status decides; what is said tells apart only what is still to be done.
func (p *Progress) count(status events.TaskStatus, says events.TaskSessionStatus) {
	if status == events.TaskCancelled {
		p.Cancelled++
		return
	}
	p.Total++
	switch {
	case status == events.TaskCompleted:
		p.Completed++
	case says == events.SaysCompleted:
		p.Said++
	case says == events.SaysFailed:
		p.Failed++
	case status == events.TaskBlocked || says == events.SaysBlocked:
		p.Blocked++
	}
}

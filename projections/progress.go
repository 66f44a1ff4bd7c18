package projections

import (
	"math"

	"maestro/events"
)

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
	// Unread counts tasks below it that were not looked at, because there is too much of them: so much is missing at
	// least. What lies below them is not counted either.
	Unread int `json:"unread,omitempty"`
}

// Progress sums up what lies below a task, nil when nothing does.
func (s *State) Progress(t *Task) *Progress {
	sum := s.SumBelow(t.ID, NewSums(math.MaxUint64))
	s.SumOn(sum, math.MaxUint64)
	return sum.Progress()
}

func (p *Progress) add(below Progress) {
	p.Total += below.Total
	p.Completed += below.Completed
	p.Said += below.Said
	p.Blocked += below.Blocked
	p.Failed += below.Failed
	p.Cancelled += below.Cancelled
	p.Unread += below.Unread
}

// countLeaf adds a leaf. What is said of it is asked only where that tells something.
func (s *State) countLeaf(p *Progress, t *Task, sums *Sums) {
	var says events.TaskSessionStatus
	if t.Status != events.TaskCompleted && t.Status != events.TaskCancelled {
		words := listener{s, sums.alive}
		says, _ = words.says(t)
	}
	p.count(t.Status, says)
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

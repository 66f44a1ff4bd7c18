package projections

import (
	"math"

	"maestro/events"
)

// Progress counts the leaves below a task: the tasks without tasks below them. Deleted tasks do not count, and a parent
// counts for what is below it, not for itself.
type Progress struct {
	// Total is what is or has to be done: all leaves except cancelled ones.
	Total     int `json:"total"`
	Completed int `json:"completed"`
	// Said are those that an agent reports as done and nobody has confirmed.
	Said int `json:"said"`
	// Blocked are those that are blocked or reported as blocked; Failed those that are reported as failed.
	Blocked   int `json:"blocked"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	// Unread counts tasks below it that were not examined because there are too many: at least so much is missing. What
	// lies below them is not counted either.
	Unread int `json:"unread,omitempty"`
}

// Progress sums up what lies below a task, nil if nothing does.
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

// countLeaf adds a leaf. It looks up the reports on it only if they matter.
func (s *State) countLeaf(p *Progress, t *Task, sums *Sums) {
	var says events.TaskSessionStatus
	if t.Status != events.TaskCompleted && t.Status != events.TaskCancelled {
		words := listener{s, sums.alive}
		says, _ = words.says(t)
	}
	p.count(t.Status, says)
}

// count adds a leaf. The authoritative status decides; reports only distinguish unfinished leaves.
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

package projections

import (
	"math/bits"
	"sort"
)

// positions is a set of positions in a list, one bit for each. It is immutable.
type positions []uint64

const perWord = 64

func (p positions) has(i int) bool { return i/perWord < len(p) && p[i/perWord]>>(i%perWord)&1 == 1 }

// with returns the set with one more position.
func (p positions) with(i int) positions {
	more := make(positions, max(len(p), i/perWord+1))
	copy(more, p)
	more.add(i)
	return more
}

// add changes a set that nobody else has yet; it must be long enough.
func (p positions) add(i int) { p[i/perWord] |= 1 << (i % perWord) }

// gap returns the first position from a first one on, upwards or downwards, that is not in the set, and how many words
// it read; -1 if there is none below. It may return any position beyond the given distance instead.
func (p positions) gap(first int, up bool, distance int) (at, words int) {
	i := first
	for ; i >= 0 && i/perWord < len(p) && max(i-first, first-i) <= distance; words++ {
		word := i / perWord
		if up {
			if free := ^p[word] >> (i % perWord); free != 0 {
				return i + bits.TrailingZeros64(free), words + 1
			}
			i = (word + 1) * perWord
			continue
		}
		if free := ^p[word] << (perWord - 1 - i%perWord); free != 0 {
			return i - bits.LeadingZeros64(free), words + 1
		}
		i = word*perWord - 1
	}
	return i, words
}

// placedElsewhere records that a task has a place of its own now, which it keeps.
func (s *State) placedElsewhere(t *Task) {
	set := s.elsewhere.get(t.ProjectID)
	i := s.createdAt(t)
	if !set.has(i) {
		s.work(uint64(len(set)) / orderedPerStep)
		s.elsewhere.put(t.ProjectID, set.with(i))
	}
}

// createdAt returns a task's position among all tasks of its project.
func (s *State) createdAt(t *Task) int {
	created := s.taskIDs.get(t.ProjectID)
	return sort.Search(len(created), func(i int) bool {
		return s.tasks.get(created[i]).CreatedSequence >= t.CreatedSequence
	})
}

// restoreElsewhere records which of all tasks have a place of their own.
func (s *State) restoreElsewhere(tasks []*Task) {
	for _, t := range tasks {
		if t.Order == "" {
			continue
		}
		set := s.elsewhere.get(t.ProjectID)
		if set == nil {
			set = make(positions, len(s.taskIDs.get(t.ProjectID))/perWord+1)
			s.elsewhere.put(t.ProjectID, set)
		}
		set.add(s.createdAt(t))
	}
}

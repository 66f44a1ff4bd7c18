package projections

import (
	"iter"
	"slices"
)

// mostTogether is how many words of a task lie in one list. A new word copies two such lists at most, however many
// sessions spoke before.
const mostTogether = 32

// Earlier are words of a task that lie apart from the newest, oldest first, in parts of at most mostTogether. Two
// neighbours have more than that together, so there are few. Immutable.
type Earlier struct{ Parts [][]Said }

// parts gives the words in parts, oldest first; the last are the newest.
func (t *Task) parts() iter.Seq[[]Said] {
	return func(yield func([]Said) bool) {
		for _, part := range t.earlierParts() {
			if !yield(part) {
				return
			}
		}
		if len(t.Says) > 0 {
			yield(t.Says)
		}
	}
}

// AllSays gives what each of the task's sessions last said of it, oldest first.
func (t *Task) AllSays() []Said {
	if t.earlier() == nil {
		return t.Says
	}
	return slices.Concat(slices.Collect(t.parts())...)
}

// newestSays gives the newest words, at most so many, oldest first, and how many others there are.
func (t *Task) newestSays(most int) (says []Said, more int) {
	all := t.Speakers()
	if all <= most {
		return t.AllSays(), 0
	}
	says = make([]Said, 0, most)
	take := func(part []Said) {
		for _, said := range slices.Backward(part) {
			if len(says) < most {
				says = append(says, said)
			}
		}
	}
	take(t.Says)
	for _, part := range slices.Backward(t.earlierParts()) {
		if len(says) == most {
			break
		}
		take(part)
	}
	slices.Reverse(says)
	return says, all - most
}

// saysTheSame reports whether no word was said or taken away between two versions of a task.
func (t *Task) saysTheSame(other *Task) bool {
	return t.earlier() == other.earlier() && len(t.Says) == len(other.Says) &&
		(len(t.Says) == 0 || &t.Says[0] == &other.Says[0])
}

// Speakers counts the sessions whose word is on the task.
func (t *Task) Speakers() int {
	n := len(t.Says)
	for _, part := range t.earlierParts() {
		n += len(part)
	}
	return n
}

// SaidBy gives what a session says of the task, zero if it says nothing.
func (t *Task) SaidBy(session string) Said {
	for part := range t.parts() {
		if i := indexOf(part, session); i >= 0 {
			return part[i]
		}
	}
	return Said{}
}

func indexOf(says []Said, session string) int {
	return slices.IndexFunc(says, func(said Said) bool { return said.SessionID == session })
}

// newest gives the newest word that is as wanted; zero if there is none.
func (t *Task) newest(wanted func(Said) bool) Said {
	for _, said := range slices.Backward(t.Says) {
		if wanted(said) {
			return said
		}
	}
	for _, part := range slices.Backward(t.earlierParts()) {
		for _, said := range slices.Backward(part) {
			if wanted(said) {
				return said
			}
		}
	}
	return Said{}
}

// addSaid puts a word last, in place of the session's former one, and gives how many words it copied.
func (t *Task) addSaid(said Said) (copied int) {
	copied = t.dropSaid(said.SessionID)
	if len(t.Says) >= mostTogether {
		parts := t.earlierParts()
		copied += len(parts) + 1
		t.setEarlier(append(slices.Clip(parts), t.Says))
		t.Says = nil
	}
	copied += len(t.Says) + 1
	t.Says = append(slices.Clip(t.Says), said)
	return copied
}

// dropSaid takes a session's word away, and gives how many words it copied.
func (t *Task) dropSaid(session string) (copied int) {
	if i := indexOf(t.Says, session); i >= 0 {
		t.Says = slices.Delete(slices.Clone(t.Says), i, i+1)
		return len(t.Says)
	}
	for at, part := range t.earlierParts() {
		i := indexOf(part, session)
		if i < 0 {
			continue
		}
		part = slices.Delete(slices.Clone(part), i, i+1)
		parts := slices.Clone(t.earlierParts())
		copied = len(part) + len(parts)
		switch {
		case at > 0 && len(parts[at-1])+len(part) <= mostTogether:
			parts[at-1] = slices.Concat(parts[at-1], part)
			parts = slices.Delete(parts, at, at+1)
		case at+1 < len(parts) && len(part)+len(parts[at+1]) <= mostTogether:
			parts[at] = slices.Concat(part, parts[at+1])
			parts = slices.Delete(parts, at+1, at+2)
		default:
			parts[at] = part
		}
		t.setEarlier(slices.DeleteFunc(parts, func(part []Said) bool { return len(part) == 0 }))
		return copied + mostTogether
	}
	return 0
}

// keepSays takes away the words that are not as wanted, and gives how many it looked at.
func (t *Task) keepSays(wanted func(Said) bool) (copied int) {
	all := t.AllSays()
	rest := slices.DeleteFunc(slices.Clone(all), func(said Said) bool { return !wanted(said) })
	var parts [][]Said
	for len(rest) > mostTogether {
		parts = append(parts, rest[:mostTogether:mostTogether])
		rest = rest[mostTogether:]
	}
	t.setEarlier(parts)
	t.Says = rest
	return len(all)
}

func (t *Task) earlier() *Earlier {
	if t.Stated == nil {
		return nil
	}
	return t.Stated.Earlier
}

func (t *Task) earlierParts() [][]Said {
	if e := t.earlier(); e != nil {
		return e.Parts
	}
	return nil
}

func (t *Task) setEarlier(parts [][]Said) {
	s := Stated{Reason: t.StatusReason(), Result: t.Result()}
	if len(parts) > 0 {
		s.Earlier = &Earlier{parts}
	}
	t.stated(s)
}

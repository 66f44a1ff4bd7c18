package projections

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"maestro/events"
)

// Siblings are in the order of their keys, which compare as text: 16 hexadecimal digits, and perhaps a fraction that
// does not end in 0. The key of a task that was never put before or after another is derived from the event that
// created it, so that such tasks are in order of creation. All tasks of a project have different keys, whatever their
// parents.
const (
	wholeDigits = 16
	wholeMiddle = 1 << 63
)

// createdKey returns the key of a task that an event created.
func createdKey(sequence uint64) string { return wholeKey(wholeMiddle + sequence) }

func wholeKey(whole uint64) string {
	digits := strconv.FormatUint(whole, 16)
	return zeros[:wholeDigits-len(digits)] + digits
}

const zeros = "0000000000000000"

// SiblingKey returns the key of a task's place among its siblings.
func (t *Task) SiblingKey() string {
	if t.Order != "" {
		return t.Order
	}
	return createdKey(t.CreatedSequence)
}

// SiblingPosition is a key that a task of a project has, or had when it was created.
type SiblingPosition struct {
	Key string
	// Task has the key; nil if it has another one since, where too many such tasks follow each other.
	Task *Task
}

// SiblingWalk goes from a key to one position after the other, among all tasks of a project.
type SiblingWalk struct {
	state            *State
	created, ordered []string
	elsewhere        positions
	// i and j are the next ones in created and ordered, step is 1 or -1.
	i, j, step int
	// left is how many more tasks that were created here, and moved since, it skips.
	left int
	// at is the next one in created that it does not skip, once it was looked for.
	at     int
	sought bool
}

// mostElsewhere bounds how many tasks that were moved from where they were created one walk skips.
const mostElsewhere = 10_000

// WalkBeside starts a walk to what is after a key, or before it.
func (s *State) WalkBeside(project, key string, after bool) *SiblingWalk {
	w := &SiblingWalk{
		state:     s,
		created:   s.taskIDs.get(project),
		ordered:   s.ordered.get(orderOf(project)),
		elsewhere: s.elsewhere.get(project),
		step:      -1,
		left:      mostElsewhere,
	}
	w.i = sort.Search(len(w.created), func(i int) bool {
		return s.beyond(createdKey(s.tasks.get(w.created[i]).CreatedSequence), key, after)
	})
	w.j = sort.Search(len(w.ordered), func(j int) bool { return s.beyond(s.tasks.get(w.ordered[j]).Order, key, after) })
	if after {
		w.step = 1
	} else {
		w.i, w.j = w.i-1, w.j-1
	}
	return w
}

// Next returns the next position; false if there is none. The whole walk skips no more than mostElsewhere tasks: where
// it stops is part of what a decision says, so the same log gives the same keys.
func (w *SiblingWalk) Next() (SiblingPosition, bool) {
	s := w.state
	var beside SiblingPosition
	found := w.j >= 0 && w.j < len(w.ordered)
	if found {
		t := s.tasks.get(w.ordered[w.j])
		beside = SiblingPosition{t.Order, t}
	}
	if !w.sought {
		w.seek()
	}
	if w.at >= 0 && w.at < len(w.created) {
		t := s.tasks.get(w.created[w.at])
		here := SiblingPosition{Key: createdKey(t.CreatedSequence)}
		otherIsNearer := found && (here.Key == beside.Key || (w.step > 0) == (here.Key > beside.Key))
		if !otherIsNearer {
			w.left -= (w.at - w.i) * w.step
			w.i, w.sought = w.at+w.step, false
			if t.Order == "" {
				here.Task = t
			}
			return here, true
		}
	}
	if found {
		w.j += w.step
	}
	return beside, found
}

// seek looks for the next task that was created here and was not moved, after those that it skips.
func (w *SiblingWalk) seek() {
	at, words := w.elsewhere.gap(w.i, w.step > 0, w.left)
	w.state.work(uint64(words + 1)) //nolint:gosec // not negative
	if (at-w.i)*w.step > w.left {
		at = w.i + w.left*w.step
	}
	w.at, w.sought = at, true
}

// beyond returns the key where a search ends: just after the key, or at it.
func (s *State) beyond(at, key string, after bool) bool {
	s.work(1)
	return at > key || !after && at == key
}

// ParentOf returns the parent below which a task is shown: "" for a root, and for a task whose parent was deleted.
func (s *State) ParentOf(t *Task) string {
	if s.Task(t.ParentID) == nil {
		return ""
	}
	return t.ParentID
}

// KeyBeside returns a key between that of a task and the position next to it, before or after; or beyond all others if
// there is none.
func (s *State) KeyBeside(t *Task, after bool) string {
	key := t.SiblingKey()
	beside, found := s.WalkBeside(t.ProjectID, key, after).Next()
	switch {
	case found && after:
		return keyBetween(key, beside.Key)
	case found:
		return keyBetween(beside.Key, key)
	case after: // after everything that this event and those before it created
		return createdKey(s.head.Sequence) + "8"
	}
	return wholeKey(wholeMiddle - s.head.Sequence)
}

// keyBetween returns a short key between two.
func keyBetween(low, high string) string {
	var key []byte
	bounded := true // by high
	for i := 0; ; i++ {
		l, h := digitAt(low, i), wholeDigits
		if bounded {
			h = digitAt(high, i)
		}
		if h-l > 1 {
			key = append(key, hexDigit(l+(h-l)/2))
			break
		}
		bounded = bounded && h == l
		key = append(key, hexDigit(l))
	}
	if missing := wholeDigits - len(key); missing > 0 {
		return string(key) + zeros[:missing]
	}
	return string(key)
}

func digitAt(key string, i int) int {
	if i >= len(key) {
		return 0
	}
	digit, err := strconv.ParseUint(key[i:i+1], 16, 8)
	if err != nil {
		return 0
	}
	return int(digit) //nolint:gosec // below 16
}

func hexDigit(digit int) byte { return "0123456789abcdef"[digit] }

// ValidOrder reports whether a text has the form of a key.
func ValidOrder(key string) bool {
	for _, c := range []byte(key) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(key) == wholeDigits || len(key) > wholeDigits && key[len(key)-1] != '0'
}

// siblings is the rest of a list of tasks.
type siblings struct {
	// created are in order of creation.
	created []string
	// apart is nil if all are in that order.
	apart *apart
}

// apart are the tasks of a list that were moved from where they were created, in sibling order.
type apart struct {
	ordered []string
	// passed is how many of them were found where they were created, which does not count.
	passed, all int
}

// siblingsIn returns the tasks of a project, or below a task, in sibling order, after a key; "" for all.
func (s *State) siblingsIn(list []string, of, after string) siblings {
	l := siblings{created: list}
	if ordered := s.ordered.get(of); len(ordered) > 0 {
		l.apart = &apart{ordered: ordered, all: len(ordered)}
	}
	if after == "" {
		return l
	}
	l.created = l.created[sort.Search(len(l.created), func(i int) bool {
		return createdKey(s.tasks.get(l.created[i]).CreatedSequence) > after
	}):]
	if a := l.apart; a != nil {
		a.ordered = a.ordered[sort.Search(len(a.ordered), func(i int) bool {
			return s.tasks.get(a.ordered[i]).Order > after
		}):]
	}
	return l
}

func (s *State) childrenInOrder(task string) siblings {
	return s.siblingsIn(s.children.get(task), task, "")
}

func (l *siblings) empty() bool {
	return len(l.created) == 0 && (l.apart == nil || len(l.apart.ordered) == 0)
}

// left counts the remaining tasks, if the list was begun at the first.
func (l *siblings) left() int {
	if l.apart == nil {
		return len(l.created)
	}
	return len(l.created) - (l.apart.all - l.apart.passed) + len(l.apart.ordered)
}

// next returns the next task, including deleted ones; nil for one of the list that is elsewhere now.
func (s *State) next(l *siblings) *Task {
	a := l.apart
	if a != nil && len(l.created) == 0 {
		t := s.tasks.get(a.ordered[0])
		a.ordered = a.ordered[1:]
		return t
	}
	t := s.tasks.get(l.created[0])
	if a != nil && t.Order == "" && len(a.ordered) > 0 {
		if first := s.tasks.get(a.ordered[0]); first.Order < t.SiblingKey() {
			a.ordered = a.ordered[1:]
			return first
		}
	}
	l.created = l.created[1:]
	if a != nil && t.Order != "" {
		a.passed++
		return nil
	}
	return t
}

// When no key between two is short enough, the tasks around them get new ones: all whose keys begin with the same 16
// digits and have a fraction. Their fractions are then as far apart as possible, and their order stays. Only tasks that
// were placed next to others have such keys, so this costs no more than their moves did, and it is needed again after
// hundreds of moves at the earliest.
const (
	fractionDigits = 8
	fractions      = 1 << (4 * fractionDigits)
)

// crowded returns the tasks of a project, except one, that have the first digits of a key and a fraction, in order.
func (s *State) crowded(project, key, except string) []string {
	list, whole := s.ordered.get(orderOf(project)), key[:wholeDigits]
	first := sort.Search(len(list), func(i int) bool { return s.tasks.get(list[i]).Order > whole })
	last := sort.Search(len(list), func(i int) bool { return s.tasks.get(list[i]).Order >= whole+"g" })
	s.work(uint64(max(last-first, 0)))
	return without(list[first:max(first, last)], []string{except})
}

// spacedKey returns the key of one of n tasks, the first is 0, whose keys have the first digits of another one.
func spacedKey(key string, i, n int) string {
	fraction := strconv.FormatInt(int64(i+1)*(fractions/int64(n+1)), 16)
	return key[:wholeDigits] + strings.TrimRight(zeros[:fractionDigits-len(fraction)]+fraction, "0")
}

// RespacedKey returns the key that a task gets, in place of one that is too long, if the tasks there get new keys too.
func (s *State) RespacedKey(t *Task, key string) string {
	around := s.crowded(t.ProjectID, key, t.ID)
	at := sort.Search(len(around), func(i int) bool { return s.tasks.get(around[i]).Order > key })
	return spacedKey(key, at, len(around)+1)
}

// respacing returns the tasks that get new keys, and the place among them of the task that is moved.
func (s *State) respacing(t *Task, key string) (around []string, at int, err error) {
	around = s.crowded(t.ProjectID, key, t.ID)
	at, found := sort.Find(len(around)+1, func(i int) int { return cmp.Compare(key, spacedKey(key, i, len(around)+1)) })
	if !found {
		return nil, 0, fmt.Errorf("%q is no key of %d tasks that are spaced anew", key, len(around)+1)
	}
	return around, at, nil
}

// respace gives the tasks around one that is moved their new keys. Nobody is shown a key, and their order stays, so
// this changes no view.
func (s *State) respace(t *Task, order *events.SiblingOrder) {
	if order == nil || !order.Respaced {
		return
	}
	around, at, err := s.respacing(t, order.Key)
	if err != nil {
		return // validOrder refused it
	}
	for i, id := range around {
		if i >= at {
			i++
		}
		spaced := *s.tasks.get(id)
		fields := *spaced.TaskFields
		fields.Order = spacedKey(order.Key, i, len(around)+1)
		spaced.TaskFields = &fields
		s.tasks.put(id, &spaced)
	}
}

// validOrder checks the place among its siblings that a task gets.
func (s *State) validOrder(t *Task, order *events.SiblingOrder) error {
	switch {
	case order == nil:
		return nil
	case !ValidOrder(order.Key):
		return fmt.Errorf("%q is no key that a task can have among its siblings", order.Key)
	case order.Respaced:
		_, _, err := s.respacing(t, order.Key)
		return err
	}
	return nil
}

// reordered updates the lists of tasks that have a place of their own.
func (s *State) reordered(before, after *Task, respaced bool) {
	if before.Order == after.Order && before.ParentID == after.ParentID && !respaced {
		return
	}
	if before.Order != after.Order || respaced {
		s.placedElsewhere(after)
		s.leaveOrder(before, orderOf(before.ProjectID))
		s.enterOrder(after, orderOf(after.ProjectID))
	}
	s.leaveOrder(before, before.ParentID)
	s.enterOrder(after, after.ParentID)
}

// orderOf is the key of the list of all tasks of a project that have a place of their own. No task has such an id.
func orderOf(project string) string { return "/" + project }

// byPlace compares tasks that have a place of their own. Only a faulty log has two with the same key.
func byPlace(a, b *Task) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.CreatedSequence, b.CreatedSequence))
}

// orderedPerStep is how many entries of a list are copied in the time of one step.
const orderedPerStep = 16

func (s *State) leaveOrder(t *Task, of string) {
	if t.Order == "" || of == "" {
		return
	}
	list := s.ordered.get(of)
	s.work(uint64(len(list)) / orderedPerStep)
	s.ordered.put(of, without(list, []string{t.ID}))
}

func (s *State) enterOrder(t *Task, of string) {
	if t.Order == "" || of == "" {
		return
	}
	list := s.ordered.get(of)
	s.work(uint64(len(list)) / orderedPerStep)
	at := sort.Search(len(list), func(i int) bool { return byPlace(s.tasks.get(list[i]), t) > 0 })
	s.ordered.put(of, slices.Insert(slices.Clone(list), at, t.ID))
}

// restoreOrder sorts the lists of tasks that have a place of their own, which are in order of creation before.
func (s *State) restoreOrder(tasks []*Task) {
	of := map[string]bool{}
	for _, t := range tasks {
		for _, list := range []string{orderOf(t.ProjectID), t.ParentID} {
			if t.Order != "" && list != "" {
				of[list] = true
				s.ordered.put(list, append(s.ordered.get(list), t.ID))
			}
		}
	}
	s.restoreElsewhere(tasks)
	for list := range of {
		slices.SortFunc(s.ordered.get(list), func(a, b string) int {
			return byPlace(s.tasks.get(a), s.tasks.get(b))
		})
	}
}

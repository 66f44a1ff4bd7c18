package projections

import (
	"maps"
	"slices"
)

// ViewKey names a view of one object: what a list shows of it.
type ViewKey struct {
	// Kind is the kind of the object, none of the kinds of timelines; ID is as in [Change].
	Kind Kind
	ID   string
}

// ViewIndex finds the views that an event changed: of the objects that it changed, and of others whose views mention
// them. It follows one state, so that whoever follows the log does not compare all views after each event.
type ViewIndex struct {
	places map[string]*taskPlace
	// tasksOf are, by session, the tasks that it has or reported on, inputsOf its questions, itemsOf the items that it
	// holds or finished; inputsAbout are, by task, the questions about it.
	tasksOf, inputsOf, itemsOf, inputsAbout links

	// changed are the views that the present event changed.
	changed map[ViewKey]struct{}
	order   []ViewKey
}

// NewViewIndex returns the index of a state.
func NewViewIndex(s *State) *ViewIndex {
	x := &ViewIndex{
		places:  map[string]*taskPlace{},
		changed: map[ViewKey]struct{}{},
	}
	for _, project := range s.ProjectIDs() {
		for _, id := range s.taskIDs.get(project) {
			t := s.tasks.get(id)
			x.mentions(t)
			x.place(s, t)
			for _, key := range s.itemsOf.get(id) {
				x.holds(key, s.items.get(key))
			}
		}
		for input := range s.Inputs(project) {
			x.asks(input)
		}
	}
	x.forget()
	return x
}

// Progress returns what lies below a task, nil if nothing does.
func (x *ViewIndex) Progress(task string) *Progress {
	p := x.places[task]
	if p == nil || p.children == 0 {
		return nil
	}
	sum := p.below
	return &sum
}

// Changed returns the views that the newest event changed, given its changes. Some of them may be as they were. It has
// to be called after every event, and the result is valid until the next call.
func (x *ViewIndex) Changed(s *State, changes []Change) []ViewKey {
	x.forget()
	for _, change := range changes {
		switch after := change.After.(type) {
		case *Task:
			before, _ := change.Before.(*Task)
			x.taskChanged(s, before, after)
		case *Session:
			before, _ := change.Before.(*Session)
			x.sessionChanged(s, before, after)
		case *Item:
			before, _ := change.Before.(*Item)
			x.itemChanged(change.ID, before, after)
		case *Queue:
			x.add(KindQueue, queueKey(after.ProjectID, after.Name))
		case *Input:
			x.asks(after)
			x.add(KindInput, after.ID)
		case *Entry: // its session or task is among the changes if it shows something of it
		default:
			x.add(change.Kind, change.ID)
		}
	}
	for _, queue := range s.LinesMoved() {
		x.add(KindQueue, queue)
	}
	return x.order
}

func (x *ViewIndex) forget() {
	clear(x.changed)
	x.order = x.order[:0]
}

func (x *ViewIndex) add(kind Kind, id string) {
	key := ViewKey{kind, id}
	if _, known := x.changed[key]; id == "" || known {
		return
	}
	x.changed[key] = struct{}{}
	x.order = append(x.order, key)
}

// addAll adds views in a fixed order.
func (x *ViewIndex) addAll(kind Kind, ids map[string]struct{}) {
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		x.add(kind, id)
	}
}

func (x *ViewIndex) mentions(t *Task) {
	sessions := slices.Clone(t.SessionIDs)
	for _, said := range t.AllSays() {
		sessions = append(sessions, said.SessionID)
	}
	x.tasksOf.set(t.ID, sessions)
}

func (x *ViewIndex) asks(input *Input) {
	x.inputsOf.set(input.ID, only(input.SessionID))
	x.inputsAbout.set(input.ID, slices.Clone(input.TaskIDs))
}

func (x *ViewIndex) holds(key string, item *Item) { x.itemsOf.set(key, only(item.SessionID)) }

// only returns a list of an id, which is empty without one.
func only(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

func (x *ViewIndex) taskChanged(s *State, before, t *Task) {
	x.add(KindTask, t.ID)
	x.mentions(t)
	x.place(s, t)
	for _, key := range s.itemsOf.get(t.ID) {
		x.add(KindQueueItem, key)
	}
	if before == nil || before.Title != t.Title || before.Deleted != t.Deleted || before.Over() != t.Over() {
		x.addAll(KindInput, x.inputsAbout.of(t.ID))
	}
	met := before == nil || before.Status != t.Status || before.Deleted != t.Deleted
	x.dependentsOf(s, t.ID, met)
}

// dependentsOf adds the items of the tasks that depend on one, and if their dependency was met or is no longer, those
// tasks.
func (x *ViewIndex) dependentsOf(s *State, task string, met bool) {
	for _, id := range s.DependentIDs(task) {
		if met {
			x.add(KindTask, id)
		}
		for _, key := range s.itemsOf.get(id) {
			x.add(KindQueueItem, key)
		}
	}
}

func (x *ViewIndex) sessionChanged(s *State, before, after *Session) {
	x.add(KindSession, after.ID)
	if before == nil || before.Name != after.Name || before.Deleted != after.Deleted {
		x.addAll(KindQueueItem, x.itemsOf.of(after.ID))
		x.addAll(KindInput, x.inputsOf.of(after.ID))
	}
	if before != nil && before.Status == after.Status && before.Deleted == after.Deleted &&
		before.Ended() == after.Ended() && before.Active() == after.Active() {
		return
	}
	x.addAll(KindInput, x.inputsOf.of(after.ID))
	for _, id := range slices.Sorted(maps.Keys(x.tasksOf.of(after.ID))) {
		x.add(KindTask, id)
		x.place(s, s.tasks.get(id))
		x.dependentsOf(s, id, false)
	}
}

func (x *ViewIndex) itemChanged(key string, before, after *Item) {
	x.holds(key, after)
	x.add(KindQueueItem, key)
	x.add(KindTask, after.TaskID)
	x.add(KindQueue, queueKey(after.ProjectID, after.Queue))
	if before != nil {
		x.add(KindTask, before.TaskID)
	}
}

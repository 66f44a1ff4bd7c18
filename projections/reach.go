package projections

// Waits says which tasks wait for which in a search: a task for those that it depends on and, with Parts, for those
// directly below it. The task Moved is below Parent in the search, "" for none, wherever the state has it; the search
// never continues from it.
type Waits struct {
	Parts         bool
	Moved, Parent string
}

// Reaches returns one of these tasks that waits for another, directly or not, "" if none does, and how many steps it
// took; it gives up above most. It searches from both ends, a level at a time, on the side that has cost less so far,
// so that it costs about twice as much as the smaller side. The result depends only on what waits for what, never on
// the order in which the state holds it: a decision on a snapshot must equal one on the whole log.
func (s *State) Reaches(these []string, other string, waits Waits, most int) (found string, steps int) {
	w := walk{
		state: s,
		waits: waits,
		from:  make(map[string]int, len(these)),
		back:  map[string]bool{other: true},
		met:   -1,
	}
	for i, id := range these {
		if _, seen := w.from[id]; !seen {
			w.from[id] = i
			w.ahead = append(w.ahead, id)
		}
	}
	if origin, is := w.from[other]; is {
		return these[origin], 0
	}
	w.behind = []string{other}
	// The cost of each side up to the end of its next level.
	costAhead, costBehind := w.costAhead(), w.costBehind()
	spentAhead, spentBehind := 0, 0
	for len(w.ahead) > 0 && len(w.behind) > 0 {
		if costAhead <= costBehind {
			spentAhead = costAhead
		} else {
			spentBehind = costBehind
		}
		if steps = spentAhead + spentBehind; steps > most {
			return "", steps
		}
		if costAhead <= costBehind {
			w.stepAhead()
			costAhead += w.costAhead()
		} else {
			w.stepBack()
			costBehind += w.costBehind()
		}
		if w.met >= 0 {
			return these[w.met], steps
		}
	}
	return "", steps
}

// walk is a search of what waits for what, from both ends.
type walk struct {
	state *State
	waits Waits
	// from holds, for each task on the forward side, which of the given tasks leads to it; back holds the tasks on the
	// other side.
	from map[string]int
	back map[string]bool
	// ahead and behind are the last levels reached.
	ahead, behind []string
	// met is the first of the given tasks through which the sides met; -1 until then.
	met int
}

// parts returns the tasks directly below one, for which it waits.
func (w *walk) parts(id string) []string {
	if !w.waits.Parts {
		return nil
	}
	return w.state.children.get(id)
}

// whole returns the task that one is directly below, and that waits for it, "" if there is none.
func (w *walk) whole(id string) string {
	if !w.waits.Parts {
		return ""
	}
	if id == w.waits.Moved {
		return w.waits.Parent
	}
	if t := w.state.Task(id); t != nil {
		return t.ParentID
	}
	return ""
}

func (w *walk) costAhead() (cost int) {
	for _, id := range w.ahead {
		if t := w.state.Task(id); t != nil {
			cost += len(t.Dependencies) + len(w.parts(id))
		}
	}
	return cost
}

func (w *walk) costBehind() (cost int) {
	for _, id := range w.behind {
		if cost += len(w.state.dependents.get(id)); w.waits.Parts {
			cost++
		}
	}
	return cost
}

// stepAhead continues with what the tasks of the level wait for.
func (w *walk) stepAhead() {
	level := map[string]int{}
	step := func(id, next string) {
		if w.back[next] {
			w.meet(w.from[id])
		}
		if _, seen := w.from[next]; seen || next == w.waits.Moved {
			return
		}
		if origin, seen := level[next]; !seen || w.from[id] < origin {
			level[next] = w.from[id]
		}
	}
	for _, id := range w.ahead {
		t := w.state.Task(id)
		if t == nil {
			continue
		}
		for _, next := range t.Dependencies {
			step(id, next)
		}
		for _, next := range w.parts(id) {
			if next != w.waits.Moved || id == w.waits.Parent {
				step(id, next)
			}
		}
	}
	w.ahead = w.ahead[:0]
	for id, origin := range level {
		w.from[id] = origin
		w.ahead = append(w.ahead, id)
	}
}

// stepBack continues with what waits for the tasks of the level.
func (w *walk) stepBack() {
	level := w.behind
	w.behind = nil
	step := func(next string) {
		if w.back[next] || next == w.waits.Moved || w.state.Task(next) == nil {
			return
		}
		w.back[next] = true
		w.behind = append(w.behind, next)
		if origin, is := w.from[next]; is {
			w.meet(origin)
		}
	}
	for _, id := range level {
		for _, next := range w.state.dependents.get(id) {
			step(next)
		}
		step(w.whole(id))
	}
}

func (w *walk) meet(origin int) {
	if w.met < 0 || origin < w.met {
		w.met = origin
	}
}

package projections

// Reaches returns one of these tasks that depends on another, directly or not, "" if none does, and how many
// dependencies it followed; it gives up above most. It searches from both ends, a level at a time, on the side that has
// cost less so far, so that it costs about twice as much as the smaller side. The result depends only on the
// dependencies, never on the order in which the state holds them: a decision on a snapshot must equal one on the whole
// log.
func (s *State) Reaches(these []string, other string, most int) (found string, steps int) {
	w := walk{
		state: s,
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

// walk is a search of dependencies from both ends.
type walk struct {
	state *State
	// from holds, for each task on the forward side, which of the given tasks leads to it; back holds the tasks on the
	// other side.
	from map[string]int
	back map[string]bool
	// ahead and behind are the last levels reached.
	ahead, behind []string
	// met is the first of the given tasks through which the sides met; -1 until then.
	met int
}

func (w *walk) costAhead() (cost int) {
	for _, id := range w.ahead {
		if t := w.state.Task(id); t != nil {
			cost += len(t.Dependencies)
		}
	}
	return cost
}

func (w *walk) costBehind() (cost int) {
	for _, id := range w.behind {
		cost += len(w.state.dependents.get(id))
	}
	return cost
}

// stepAhead continues with the dependencies of the level.
func (w *walk) stepAhead() {
	level := map[string]int{}
	for _, id := range w.ahead {
		t := w.state.Task(id)
		if t == nil {
			continue
		}
		for _, next := range t.Dependencies {
			if w.back[next] {
				w.meet(w.from[id])
			}
			if _, seen := w.from[next]; seen {
				continue
			}
			if origin, seen := level[next]; !seen || w.from[id] < origin {
				level[next] = w.from[id]
			}
		}
	}
	w.ahead = w.ahead[:0]
	for id, origin := range level {
		w.from[id] = origin
		w.ahead = append(w.ahead, id)
	}
}

// stepBack continues with the dependents of the level.
func (w *walk) stepBack() {
	level := w.behind
	w.behind = nil
	for _, id := range level {
		for _, next := range w.state.dependents.get(id) {
			if w.back[next] || w.state.Task(next) == nil {
				continue
			}
			w.back[next] = true
			w.behind = append(w.behind, next)
			if origin, is := w.from[next]; is {
				w.meet(origin)
			}
		}
	}
}

func (w *walk) meet(origin int) {
	if w.met < 0 || origin < w.met {
		w.met = origin
	}
}

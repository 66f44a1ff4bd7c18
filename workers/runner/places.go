package runner

import (
	"maestro/events"
	"maestro/service/wire"
	"maestro/workers/supervisor"
)

// places are those that agents take. Orchestrators wait for workers, so each role has places of its own; and a run that
// waits for the answer to a failed check, which has no agent yet, takes one of as many others.
type places struct {
	limit           int
	running, asking map[events.Role]int
	// asks counts the runs that wait for such an answer, also those that find none of the other places free.
	asks int
}

func (p *places) free(role events.Role) bool { return p.running[role] < p.limit }

// counts counts a run that has a supervisor. It returns false for one that waits for a place.
func (r *Runner) counts(at *places, x wire.RunnerSession) bool {
	saved, known := r.saved(x.ID)
	place := saved.Place
	if !known || saved.Run != x.Run || x.State != wire.WorkRunning {
		place = supervisor.PlaceTaken
	}
	switch place {
	case supervisor.PlaceAsks:
		at.asks++
		if at.asking[x.Role] < at.limit {
			at.asking[x.Role]++
			return true
		}
	case supervisor.PlaceLine:
		if !r.Home.HasPlace(x.ID) {
			return false
		}
	case supervisor.PlaceTaken:
	}
	at.running[x.Role]++
	return true
}

// giveBack gives the runs that have their answer a place, in their order. They come before those that have not begun.
func (r *Runner) giveBack(at *places, line []wire.RunnerSession) {
	for _, x := range line {
		if !at.free(x.Role) {
			continue
		}
		if err := r.Home.GivePlace(x.ID); err != nil {
			r.Logger.Error("a run that has its answer cannot go on", "session", x.ID, "run", x.Run, "why", err)
			continue
		}
		at.running[x.Role]++
	}
}

// note remembers what the runner says about itself, and says it if it has changed.
func (r *Runner) note(at *places) {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := at.running[events.RoleWorker]
	if r.running != running || r.asking != at.asks {
		r.running, r.asking = running, at.asks
		r.again()
	}
}

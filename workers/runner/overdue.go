package runner

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"maestro/service/wire"
	"maestro/workers/processes"
)

// What a supervisor may take to end once its run is over. It notices that within a heartbeat, ends its agent in three
// steps, and delivers what the agent reported; whatever it leaves undone is in the home.
const (
	// continuesAfter is when it is continued: somebody may have stopped it, and it ends by itself then.
	continuesAfter = 10 * time.Second
	// endsWithin is when it is killed.
	endsWithin = 30 * time.Second
)

// child is the supervisor of a run.
type child struct {
	run int
	pid int
	// ticks tells the process from a later one with the same id.
	ticks uint64
}

func childOf(run, pid int) child { return child{run, pid, processes.Started(pid)} }

// exists reports whether the process runs and is known to be the supervisor.
func (c child) exists() bool { return c.ticks != 0 && processes.Started(c.pid) == c.ticks }

// supervisorOf returns the process that supervises a run of a session, up to a number.
func (r *Runner) supervisorOf(session string, upTo int) (c child, runs bool) {
	r.mu.Lock()
	c, runs = r.started[session]
	r.mu.Unlock()
	if !runs {
		saved, known := r.saved(session)
		c = child{saved.Run, saved.PID, saved.Ticks}
		runs = known && saved.Runner == r.Name && r.Home.Supervised(session)
	}
	return c, runs && c.run <= upTo && c.exists()
}

// watch names the supervisors that run, but of which nothing is heard although their session goes on: they were
// stopped, or hang. They are not ended, because somebody may have stopped one to look at it; the log says how to end
// it.
func (r *Runner) watch(work wire.RunnerWork) {
	unheard := map[string]bool{}
	for _, x := range work.Sessions {
		if x.State != wire.WorkRunning || !x.Lost {
			continue
		}
		c, runs := r.supervisorOf(x.ID, x.Run)
		if !runs || c.run != x.Run {
			continue
		}
		key := runOf(x)
		unheard[key] = true
		if !r.unheard[key] {
			r.Logger.Warn("a supervisor runs, but nothing is heard of it: it was stopped, or hangs", "session", x.ID,
				"run", x.Run, "pid", c.pid, "next", "continue it with `kill -CONT "+strconv.Itoa(c.pid)+
					"`, or end it and its agent with `maestro session kill "+x.ID+"`")
		}
	}
	r.unheard = unheard
}

// end ends the supervisors that should have ended long ago: one that was stopped, or that hangs, keeps an agent alive
// whose session has ended.
func (r *Runner) end(work wire.RunnerWork) {
	over := map[string]int{} // the last run that is over, by session
	listed := map[string]bool{}
	for _, x := range work.Sessions {
		listed[x.ID] = true
		switch {
		case x.State == wire.WorkEnded:
			over[x.ID] = x.Run
		case x.State == wire.WorkClaim && x.Run > 1:
			over[x.ID] = x.Run - 1
		}
	}
	r.mu.Lock()
	for session := range r.started {
		if !listed[session] && work.Protocol > 0 && work.More == 0 { // the server knows that its run ended
			over[session] = math.MaxInt
		}
	}
	r.mu.Unlock()
	now, leaving := time.Now(), map[child]time.Time{}
	for session, run := range over {
		c, runs := r.supervisorOf(session, run)
		if !runs {
			continue
		}
		since, known := r.leaving[c]
		if !known {
			since = now
		}
		leaving[c] = since
		switch late := now.Sub(since); {
		case late >= endsWithin:
			r.Logger.Warn("a supervisor did not end after its session; it is killed", "session", session, "run", c.run,
				"pid", c.pid)
			r.forced[runKey(session, c.run)] = fmt.Sprintf(
				"its supervisor did not end within %s after the session had ended, so the runner killed it", endsWithin)
			processes.KillTree(c.pid)
		case late >= continuesAfter:
			processes.Continue(c.pid)
		}
	}
	r.leaving = leaving
}

package simulation

import documents "maestro/internal/oracle"

// runCommands are the commands of runs with runners, in addition to the vocabulary.
var runCommands = []string{
	"session:claim", "session:exited", "session:usage", "sandbox:blocked", "preflight:failed", "session:stuck",
	"session:resume",
}

// drawRunWish draws what moves the runs of a session on: mostly what its runner says next, or that it ends and is
// resumed.
func (c composer) drawRunWish() wish {
	id := c.session()
	x, live := c.m.liveSession(id)
	if !live || c.chance(10) {
		return c.wish(c.runner(x), pick(c, runCommands))
	}
	itself := caller{kind: "session", name: id, project: x.Project}
	switch {
	case x.Ended, x.Lost && c.chance(50):
		return c.wish(pick(c, []caller{admin, admin, {kind: "session", name: x.SpawnedBy, project: x.Project}}),
			"session:resume")
	case x.AwaitsRunner || x.Run.Number == 0:
		claims := []string{"session:claim", "session:claim", "session:claim", "session:resume"}
		return c.wish(c.runner(x), pick(c, claims))
	}
	switch n := c.IntN(100); {
	case n < 20:
		return c.wish(itself, pick(c, []string{"report:needs-input", "report:progress", "report:complete"}))
	case n < 35:
		return c.wish(admin, "input:answer")
	case n < 40:
		return c.wish(admin, pick(c, []string{"session:kill", "session:delete", "session:resume"}))
	case n < 70:
		return c.wish(c.runner(x), "session:exited")
	}
	return c.wish(c.runner(x), pick(c, runCommands))
}

// runner draws a runner: mostly the one that has a session, or that its spawn names, or its supervisor.
func (c composer) runner(x documents.Session) caller {
	by := caller{kind: "runner", name: pick(c, []string{"r1", "r2", "terminal", "terminal", "terminal", "terminal"})}
	switch {
	case x.Run.Number > 0 && !x.Run.Resumed && c.chance(85):
		by.name = x.Run.Runner
	case x.Runner != "" && c.chance(70):
		by.name = x.Runner
	}
	if c.chance(30) {
		by.speaks = x.ID
	}
	if c.chance(5) {
		by.speaks = c.session()
	}
	return by
}

// fillRun fills in what a runner says of a run, or who is resumed.
func (c composer) fillRun(f *fields, by caller, id string) {
	f.SessionID = c.session()
	if len(c.m.sessionIDs) > 0 { // one that this can be about
		for range 8 {
			x := c.m.sessions[pick(c, c.m.sessionIDs)]
			claimable := x.AwaitsRunner || x.Run.Number == 0
			if !x.Deleted && (id == "session:claim" && claimable && !x.Ended ||
				id == "session:resume" && x.Run.Number > 0 && (x.Ended || x.Lost) ||
				id != "session:claim" && id != "session:resume" && x.Run.Runner == by.name && !x.Run.Exited) {
				f.SessionID = x.ID
				break
			}
		}
	}
	if by.speaks != "" && c.chance(90) {
		f.SessionID = by.speaks
	}
	if id == "session:resume" {
		return
	}
	run := c.m.sessions[f.SessionID].Run
	if f.Run = run.Number; c.chance(5) {
		f.Run++
	}
	switch id {
	case "session:claim":
		f.Run, f.Host = pick(c, []int{0, 0, 0, run.Number + 1}), pick(c, []string{"box", "box", "desk"})
	case "session:exited":
		f.ExitCode = ptr(pick(c, []int{0, 0, 0, 1}))
		f.Signal = pick(c, []string{"", "", "", "killed"})
		f.Conversation = pick(c, []string{"", "c1", "c2"})
	case "session:usage":
		f.Turns = pick(c, []int64{1, 1, 2, 0, -1})
	case "sandbox:blocked":
		f.Command, f.Reason = pick(c, []string{"rm -rf /", "curl", ""}), pick(c, []string{"outside", "outside", ""})
	case "preflight:failed":
		f.Check, f.Message = pick(c, []string{"disk", "login", "a b"}), pick(c, []string{"full", "not logged in", ""})
		f.Fix = pick(c, []string{"", "log in"})
	case "session:stuck":
		f.Kind, f.Detail = pick(c, []string{"silent", "loop", "", "", "bored"}), pick(c, []string{"", "ls"})
		f.Since = pick(c, []int64{0, 0, 1, 1 << 60})
	}
}

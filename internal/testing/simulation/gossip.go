package simulation

import "math/rand/v2"

// gossip lets a session below one root be refused a few times, less often than makes an equal share of all records; and
// then sessions below another root, in projects that sessions made, so often that records give way.
func (w *world) gossip(rng *rand.Rand) *Failure {
	m := w.oracle.model()
	victim := caller{kind: "session", name: m.sessionIDs[3], project: m.projectIDs[1]}
	maker := caller{kind: "session", name: m.sessionIDs[0], project: m.projectIDs[0]}
	var chatty []caller
	for range 3 {
		made, f := w.settleBelow(maker)
		if f != nil {
			return f
		}
		if chatty = append(chatty, made); rng.IntN(2) == 0 {
			maker = made // a project that a session made in a project that a session made
		}
	}
	for range 3 + rng.IntN(3) {
		if f := w.refuse(victim); f != nil {
			return f
		}
	}
	for range 3 + rng.IntN(4) {
		for _, by := range chatty {
			if f := w.refuse(by); f != nil {
				return f
			}
		}
	}
	return nil
}

// settleBelow lets an orchestrator make a project and spawn another in it.
func (w *world) settleBelow(maker caller) (made caller, f *Failure) {
	if f := w.ask(maker, "project:create", fields{Name: ptr("Annex")}); f != nil {
		return made, f
	}
	m := w.oracle.model()
	project := m.projectIDs[len(m.projectIDs)-1]
	if f := w.ask(maker, "task:create", fields{Project: project, Title: ptr("Talk")}); f != nil {
		return made, f
	}
	m = w.oracle.model()
	f = w.ask(maker, "session:spawn", fields{
		Project: project, Role: "orchestrator", TaskIDs: &[]string{m.taskIDs[len(m.taskIDs)-1]},
	})
	m = w.oracle.model()
	return caller{kind: "session", name: m.sessionIDs[len(m.sessionIDs)-1], project: project}, f
}

// refuse lets a session ask for what only users may: each time of another task, so that each refusal has a record.
func (w *world) refuse(by caller) *Failure {
	return w.ask(by, "task:delete", fields{TaskID: "task_" + w.key()})
}

package simulation

import "math/rand/v2"

// gossip has a session below one root refused a few times, so that it has less than an equal share of the records. Then
// sessions below another root, in projects created by sessions, are refused so often that records are dropped.
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
			maker = made // a project created by a session in a project that a session created
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

// settleBelow has an orchestrator create a project and spawn another orchestrator in it.
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

// refuse has a session send a command that only users may use, each time for another task, so that each refusal gets a
// record of its own.
func (w *world) refuse(by caller) *Failure {
	return w.ask(by, "task:delete", fields{TaskID: "task_" + w.key()})
}

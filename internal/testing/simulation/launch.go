package simulation

// launch has a session go through several runs: it asks and waits, it is killed, it crashes, and is resumed each time.
// Random commands seldom lead to this.
func (w *world) launch() *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	project := last(do(admin, "project:create", fields{Name: ptr("Launched")}).projectIDs)
	m := do(admin, "task:create", fields{Project: project, Title: ptr("Work")})
	work := &[]string{last(m.taskIDs)}
	id := last(do(admin, "session:spawn", fields{Project: project, TaskIDs: work, Runner: "r1"}).sessionIDs)
	itself, runner := caller{kind: "session", name: id, project: project}, caller{kind: "runner", name: "r1"}
	of := func(run int) fields { return fields{SessionID: id, Run: run} }
	exits := func(run, code int) {
		x := of(run)
		x.ExitCode, x.Conversation = ptr(code), "c1"
		do(runner, "session:exited", x)
	}
	ask := func() string {
		return last(do(itself, "report:needs-input", fields{Message: "Which?", Options: []string{"this"}}).inputIDs)
	}
	do(runner, "session:claim", fields{SessionID: id, Host: "box"})
	failed := of(1)
	failed.Check, failed.Message = "disk", "full"
	question := last(do(runner, "preflight:failed", failed).inputIDs)
	do(admin, "input:answer", fields{InputID: question, Answer: "retry"})
	do(itself, "input:received", fields{InputID: question})
	question = ask()
	exits(1, 0) // it waits for the answer
	do(admin, "input:answer", fields{InputID: question, Answer: "this"})
	do(runner, "session:claim", fields{SessionID: id, Host: "box"})
	do(itself, "report:blocked", fields{Message: "No key", TaskIDs: work})
	ask()
	do(admin, "session:kill", fields{SessionID: id})
	exits(2, 1)
	do(admin, "session:resume", fields{SessionID: id}) // and its question is open again
	do(runner, "session:claim", fields{SessionID: id, Host: "desk"})
	exits(3, 1)
	do(admin, "session:resume", fields{SessionID: id})
	return f
}

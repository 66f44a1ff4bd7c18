package simulation

// correspondence are the commands of runs with messages, in addition to the vocabulary.
var correspondence = []string{"session:message"}

// drawMessageWish draws messages to sessions, mostly between a session and the one that spawned it, and receipts of
// such messages.
func (c composer) drawMessageWish() wish {
	if id, message, ok := c.mail(); ok && c.chance(40) {
		by := caller{kind: "session", name: id, project: c.m.sessions[id].Project}
		if others := c.m.sessionIDs; c.chance(40) {
			by = caller{kind: "session", name: pick(c, others)}
			by.project = c.m.sessions[by.name].Project
		}
		return wish{by: by, id: "input:received", fields: fields{InputID: message}}
	}
	if len(c.m.sessionIDs) > 0 && c.chance(10) { // an orchestrator ends a session below it, perhaps two projects away
		top := c.m.sessions[c.m.sessionIDs[0]]
		return c.wish(caller{kind: "session", name: top.ID, project: top.Project}, "session:kill")
	}
	by := c.caller()
	if id, ok := c.abroad(); ok && c.chance(30) {
		by = caller{kind: "session", name: id, project: c.m.sessions[id].Project}
	}
	return c.wish(by, correspondence[0])
}

// abroad draws a session that works in another project than the session that spawned it.
func (c composer) abroad() (session string, ok bool) {
	for _, id := range c.m.sessionIDs {
		x, live := c.m.liveSession(id)
		if above, ok := c.m.sessions[x.SpawnedBy]; live && ok && above.Project != x.Project {
			return id, true
		}
	}
	return "", false
}

// goAbroad has an orchestrator spawn sessions in a project that it created, one of which does the same. Random commands
// seldom lead to this.
func (w *world) goAbroad() *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	home := last(do(admin, "project:create", fields{Name: ptr("Home")}).projectIDs)
	m := do(admin, "task:create", fields{Project: home, Title: ptr("At home")})
	m = do(admin, "session:spawn", fields{Project: home, Role: "orchestrator", TaskIDs: &[]string{last(m.taskIDs)}})
	orchestrator := caller{kind: "session", name: last(m.sessionIDs), project: home}
	there := last(do(orchestrator, "project:create", fields{Name: ptr("Abroad")}).projectIDs)
	m = do(admin, "task:create", fields{Project: there, Title: ptr("Abroad")})
	work := &[]string{last(m.taskIDs)}
	do(orchestrator, "session:spawn", fields{Project: there, TaskIDs: work})
	m = do(orchestrator, "session:spawn", fields{Project: there, TaskIDs: work, Role: "orchestrator"})
	second := caller{kind: "session", name: last(m.sessionIDs), project: there}
	further := last(do(second, "project:create", fields{Name: ptr("Further")}).projectIDs)
	m = do(admin, "task:create", fields{Project: further, Title: ptr("Further away")})
	work = &[]string{last(m.taskIDs)}
	do(second, "session:spawn", fields{Project: further, TaskIDs: work})
	do(admin, "session:spawn", fields{Project: further, TaskIDs: work})
	return f
}

// handOver has orchestrators write to a worker and end it before and after the one that spawned it is ended: one with
// the same task, and one with another.
func (w *world) handOver() *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	project := last(do(admin, "project:create", fields{Name: ptr("Handed over")}).projectIDs)
	task := func() *[]string {
		return &[]string{last(do(admin, "task:create", fields{Project: project, Title: ptr("Goal")}).taskIDs)}
	}
	lead := func(tasks *[]string) caller {
		m := do(admin, "session:spawn", fields{Project: project, Role: "orchestrator", TaskIDs: tasks})
		return caller{kind: "session", name: last(m.sessionIDs), project: project}
	}
	goal := task()
	first, second, other := lead(goal), lead(goal), lead(task())
	worker := last(do(first, "session:spawn", fields{Project: project, TaskIDs: task()}).sessionIDs)
	write := func() {
		do(other, "session:message", fields{SessionID: worker, Text: "Which branch?"})
		do(second, "session:message", fields{SessionID: worker, Text: "Use the other branch"})
		do(caller{kind: "session", name: worker, project: project}, "session:message",
			fields{SessionID: second.name, Text: "Done?"})
	}
	write()
	do(second, "session:kill", fields{SessionID: worker})
	do(admin, "session:kill", fields{SessionID: first.name})
	write()
	do(other, "session:kill", fields{SessionID: worker})
	do(second, "session:kill", fields{SessionID: worker})
	return f
}

// fillMessage draws the receiver of a message, and its text.
func (c composer) fillMessage(f *fields, by caller) {
	f.Project = ""
	f.SessionID, f.Text = c.session(), pick(c, []string{"Use the other branch", "Done?", "Done?", " "})
	if id, ok := c.relative(by); ok && c.chance(70) {
		f.SessionID = id
	}
	if by.kind == "session" && c.chance(25) {
		f.SessionID = ""
	}
	f.Force = c.chance(30)
	if c.chance(30) {
		if f.About = c.taskOf(by); c.chance(30) {
			f.About = c.task()
		}
	}
}

// mail draws a message that a session has not been shown yet.
func (c composer) mail() (session, message string, ok bool) {
	var have []string
	for _, id := range c.m.sessionIDs {
		if len(c.m.sessions[id].Mail) > 0 {
			have = append(have, id)
		}
	}
	if len(have) == 0 {
		return "", "", false
	}
	session = pick(c, have)
	return session, pick(c, c.m.sessions[session].Mail), true
}

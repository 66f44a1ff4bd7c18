package simulation

// corners sends sequences of commands that random commands seldom produce: a completed item is requeued while another
// session works on its task, before and after a reopen; its first worker completes it while another one holds it; a
// task about which a session asked that is done is reported as done by another, and reopened; and a task gets a
// dependency on one that depended on it through a deleted task.
func (w *world) corners() *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	project := w.oracle.model().projectIDs[0]
	task := func(title string, dependencies ...string) string {
		x := fields{Project: project, Title: &title}
		if len(dependencies) > 0 {
			x.Dependencies = &dependencies
		}
		return last(do(admin, "task:create", x).taskIDs)
	}
	spawn := func(x fields) caller {
		x.Project = project
		return caller{kind: "session", name: last(do(admin, "session:spawn", x).sessionIDs), project: project}
	}
	const queue = "corner"
	again := task("Done by one, and worked on by another")
	do(admin, "queue:create", fields{Project: project, Queue: queue})
	other := spawn(fields{TaskIDs: &[]string{again}})
	worker := spawn(fields{Strategy: "queue", Queue: queue, TaskIDs: &[]string{again}})
	do(worker, "queue:start", fields{})
	do(worker, "queue:complete", fields{})
	do(other, "report:progress", fields{Message: "On it", TaskIDs: &[]string{again}})
	item := fields{Project: project, Queue: queue, TaskID: again}
	do(admin, "queue:requeue", item)
	do(admin, "task:reopen", fields{TaskID: again, Reason: "not yet"})
	do(other, "report:progress", fields{Message: "Still on it", TaskIDs: &[]string{again}})
	do(admin, "queue:requeue", item)

	failed := task("Failed by one, and held by another")
	do(admin, "queue:push", fields{Project: project, Queue: queue, TaskID: failed})
	do(worker, "queue:start", fields{})
	do(worker, "queue:fail", fields{Reason: "It does not build"})
	do(admin, "queue:requeue", fields{Project: project, Queue: queue, TaskID: failed})
	do(spawn(fields{Strategy: "queue", Queue: queue}), "queue:start", fields{})
	do(worker, "queue:complete", fields{})

	asked := task("Asked about by one, and done by another")
	asker := spawn(fields{TaskIDs: &[]string{asked}})
	do(asker, "report:needs-input", fields{Message: "Which?", TaskIDs: &[]string{asked}})
	do(asker, "session:complete", fields{})
	doer := spawn(fields{TaskIDs: &[]string{asked}})
	do(doer, "report:complete", fields{Message: "This one", TaskIDs: &[]string{asked}})
	do(admin, "session:kill", fields{SessionID: doer.name})
	do(admin, "task:reopen", fields{TaskID: asked, Reason: "more"})

	first := task("First")
	between := task("Between", first)
	after := task("After", between)
	do(admin, "task:delete", fields{TaskID: between})
	do(admin, "task:update", fields{TaskID: first, AddDependencies: []string{after}})
	return f
}

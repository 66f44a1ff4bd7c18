package simulation

// What the composer draws for queues, questions, tokens and time.

// worker draws a session with the queue strategy that has neither ended nor completed.
func (c composer) worker() (string, bool) {
	var workers []string
	for _, id := range c.m.sessionIDs {
		if x, live := c.m.liveSession(id); live && !x.Ended && x.Strategy == "queue" {
			workers = append(workers, id)
		}
	}
	if len(workers) == 0 {
		return "", false
	}
	return pick(c, workers), true
}

// next draws the command of a client that knows the state of its queue or question, whether it is still allowed or not.
func (c composer) next() (wish, bool) {
	as := func(id string) caller { return caller{kind: "session", name: id, project: c.m.sessions[id].Project} }
	var wishes []wish
	add := func(by caller, id string, f fields) { wishes = append(wishes, wish{by: by, id: id, fields: f}) }
	workers := 0
	for _, id := range c.m.sessionIDs {
		x := c.m.sessions[id]
		if !x.Ended && x.Commands["report:needs-input"] && len(c.m.inputIDs) < 5 && c.chance(40) {
			f := fields{Message: "Red or green?"}
			if c.chance(60) {
				f.Options = []string{"red", "green"}
			}
			add(as(id), "report:needs-input", f)
		}
		if x.Queue == "" {
			continue
		}
		q := c.m.queues[queueID(x.Project, x.Queue)]
		last := c.m.itemOf(x.Project, x.Queue, x.Last)
		if x.Holds != "" && contains(c.busySessions, id) || last.Status == "processing" && last.Holder != id {
			for range 3 { // it may end before the command arrives, or another session may have the item by then
				add(
					as(id),
					pick(c, []string{"queue:complete", "queue:fail"}),
					fields{TaskID: pick(c, []string{"", x.Last})},
				)
			}
		}
		switch {
		case x.Holds != "", x.Last != "" && c.chance(30): // or held it before
			add(
				as(id),
				pick(c, []string{"queue:complete", "queue:complete", "queue:fail", "queue:skip"}),
				fields{TaskID: pick(c, []string{"", x.Last})},
			)
			add(as(id), "queue:start", fields{})
			add(
				as(id),
				pick(c, []string{"report:progress", "report:complete"}),
				fields{Message: "Done", TaskIDs: &[]string{x.Last}},
			)
			if c.chance(30) {
				add(admin, pick(c, []string{"session:kill", "session:kill", "session:delete"}), fields{SessionID: id})
			}
		case !x.Ended && q.Next != "":
			add(as(id), "queue:start", fields{})
			add(as(id), "queue:start", fields{})
		case !x.Ended && c.chance(50):
			add(as(id), "queue:push", fields{TaskID: c.taskOf(caller{kind: "session", project: x.Project})})
		}
		if !x.Ended {
			workers++
		}
	}
	for _, id := range c.m.inputIDs {
		switch q := c.m.inputs[id]; q.Status {
		case "answered":
			add(as(q.Session), "input:received", fields{InputID: id})
		case "open":
			f := fields{InputID: id, Answer: "red"}
			if len(q.Options) > 0 && c.chance(70) {
				f.Answer = pick(c, q.Options)
			}
			by := admin
			if spawner := c.m.sessions[q.Session].SpawnedBy; spawner != "" && c.chance(60) {
				by = as(spawner)
			}
			add(by, "input:answer", f)
		}
	}
	for _, key := range c.m.queueIDs {
		for _, i := range c.m.queues[key].Items {
			if q := c.m.queues[key]; q.TrustReports && i.Status == "queued" {
				for _, dependency := range c.m.tasks[i.Task].Dependencies {
					wishes = append(wishes, c.words(q.Project, dependency)...)
				}
			}
			if (i.Status == "quarantined" || i.Status == "failed") && c.chance(30) {
				add(admin, "queue:requeue", fields{TaskID: i.Task, Queue: c.m.queues[key].Name})
			}
			if i.Status == "completed" && c.chance(40) { // it is queued again once its task is reopened
				add(admin, pick(c, []string{"task:reopen", "queue:requeue"}), fields{TaskID: i.Task})
			}
		}
		if q := c.m.queues[key]; q.Session == "" && workers < 3 {
			if _, live := c.m.liveProject(q.Project); live {
				f := fields{
					Project:  q.Project,
					Strategy: "queue",
					Queue:    q.Name,
					TaskIDs:  &[]string{c.taskOf(caller{kind: "session", project: q.Project})},
				}
				add(admin, "session:spawn", f)
				add(admin, "session:spawn", f)
			}
		}
	}
	if len(wishes) == 0 {
		return wish{}, false
	}
	return pick(c, wishes), true
}

// words draws reports on a task that others wait for in a queue that trusts reports; or the end of the session that
// reported last, whose report then counts less than another session's.
func (c composer) words(project, task string) []wish {
	var wishes []wish
	for _, id := range c.m.sessionIDs {
		x := c.m.sessions[id]
		if x.Project == project && !x.Ended && (x.Role == "orchestrator" || contains(x.Tasks, task)) && c.chance(30) {
			by := caller{kind: "session", name: id, project: project}
			wishes = append(
				wishes,
				wish{
					by:     by,
					id:     pick(c, []string{"report:complete", "report:progress"}),
					fields: fields{TaskIDs: &[]string{task}},
				},
			)
		}
	}
	if says := c.m.tasks[task].Words; len(says) > 1 {
		wishes = append(
			wishes,
			wish{by: admin, id: "session:kill", fields: fields{SessionID: says[len(says)-1].Session}},
		)
	}
	return wishes
}

func (c composer) queueName() string {
	if len(c.m.queueIDs) == 0 || c.chance(10) {
		return pick(c, []string{"line", "other", "no such", "a b"})
	}
	return c.m.queues[pick(c, c.m.queueIDs)].Name
}

func (c composer) createQueue(f *fields, by caller) {
	if by.kind != "session" && c.chance(90) {
		f.Project = c.project()
	}
	f.Queue = pick(c, []string{"line", "other", "third", "", "a b"})
	if len(c.m.sessionIDs) > 0 && c.chance(5) {
		f.Queue = pick(c, c.m.sessionIDs)
	}
	f.TrustReports, f.MaxAttempts = c.chance(50), pick(c, []int{0, 0, 1, 2, 3, -1, 1001})
}

// fillQueue draws a queue, named as this caller would name it, and a task.
func (c composer) fillQueue(f *fields, by caller, id string) {
	session := by.name
	switch {
	case by.kind == "session":
		if c.chance(10) {
			f.SessionID = c.session()
		}
		if c.chance(10) {
			f.Queue = c.queueName()
		}
	case c.chance(60) && len(c.m.sessionIDs) > 0:
		session, f.Project = c.session(), ""
		if x, ok := c.worker(); ok && c.chance(80) {
			session = x
		}
		f.SessionID = session
		if c.chance(10) {
			f.Queue = c.queueName()
		}
	default:
		f.Queue = c.queueName()
		if q, ok := c.m.queues[pick(c, append(c.m.queueIDs, ""))]; ok {
			f.Queue, f.Project = q.Name, q.Project
		}
	}
	x := c.m.sessions[session]
	switch {
	case id == "queue:push":
		f.TaskID = c.taskOf(by)
		if project := f.Project + x.Project; project != "" && c.m.tasks[f.TaskID].Project != project {
			f.TaskID = c.taskOf(caller{kind: "session", project: project})
		}
	case id == "queue:start":
	case x.Last != "" && c.chance(40):
		f.TaskID = x.Last
	case c.chance(15):
		f.TaskID = c.task()
	}
	switch {
	case id == "queue:fail" && c.chance(50):
		f.Reason = "it does not build"
	case id == "queue:skip":
		f.Reason = someReason(*f)
	}
}

// someReason returns a reason, or none, that depends on what a command is about: a draw would change every history.
func someReason(f fields) string {
	sum := 0
	for _, b := range []byte(f.TaskID + f.Queue + f.SessionID) {
		sum += int(b)
	}
	return []string{"", "try again", "on another machine"}[sum%3]
}

// fillItem draws an item for a command that names it: one held by a session that is gone, or one that is out of its
// queue.
func (c composer) fillItem(f *fields, id string) {
	type place struct{ project, queue, task string }
	var suits, others []place
	for _, key := range c.m.queueIDs {
		q := c.m.queues[key]
		for _, i := range q.Items {
			here := place{q.Project, q.Name, i.Task}
			gone := i.Status == "processing" && c.m.sessions[i.Holder].Fate != ""
			over := i.Status == "failed" || i.Status == "skipped" || i.Status == "quarantined"
			suited := gone
			switch id {
			case "queue:requeue":
				suited = over
			case "queue:move":
				suited = i.Status == "queued"
			case "queue:remove":
				suited = i.Status != "processing"
			}
			if suited {
				suits = append(suits, here)
			} else {
				others = append(others, here)
			}
		}
	}
	if len(suits) == 0 || c.chance(25) {
		suits = append(others, place{c.project(), c.queueName(), c.task()})
	}
	at := pick(c, suits)
	f.Project, f.Queue, f.TaskID = at.project, at.queue, at.task
	if id != "queue:return" && id != "queue:quarantine" && c.chance(50) {
		f.Project, f.Queue = "", ""
	}
	if id == "queue:move" {
		if f.First = c.chance(40); !f.First || c.chance(5) {
			c.before(f, at.project, at.queue)
		}
	}
}

// before draws another item of a queue, or none, which moves the item to the end.
func (c composer) before(f *fields, project, queue string) {
	var tasks []string
	for _, i := range c.m.queues[queueID(project, queue)].Items {
		if i.Status == "queued" || c.chance(10) {
			tasks = append(tasks, i.Task)
		}
	}
	switch {
	case c.chance(25):
	case len(tasks) == 0 || c.chance(5):
		f.Before = pick(c, []string{c.task(), "a b"})
	default:
		f.Before = pick(c, tasks)
	}
}

// fillInput draws a question, mostly one in the state that the command needs, and an answer.
func (c composer) fillInput(f *fields, by caller, id string) {
	f.Project = ""
	var suits []string
	for _, input := range c.m.inputIDs {
		q := c.m.inputs[input]
		if id == "input:answer" && q.Status == "open" ||
			id == "input:received" && q.Session == by.name && q.Status == "answered" {
			suits = append(suits, input)
		}
	}
	switch {
	case len(suits) > 0 && c.chance(75):
		f.InputID = pick(c, suits)
	case len(c.m.inputIDs) > 0:
		f.InputID = pick(c, c.m.inputIDs)
	default:
		f.InputID = pick(c, []string{"", "input_unknown"})
	}
	if id == "input:received" {
		return
	}
	f.Answer, f.Other = pick(c, []string{"red", "yes", "no", "blue", " "}), c.chance(15)
	if options := c.m.inputs[f.InputID].Options; len(options) > 0 && c.chance(60) {
		f.Answer = pick(c, options)
	}
}

func (c composer) fillToken(f *fields, id string) {
	f.Project = ""
	f.Name = ptr(pick(c, []string{"ann", "ann", "ann", "bob", "bob", "eve", "rob", "admin", "", "a b", "system"}))
	if id == "token:revoke" {
		f.KeepChildren = c.chance(25)
		if c.chance(45) {
			f.SessionID, f.KeepChildren = c.session(), c.chance(3)
			if c.chance(90) {
				f.Name = nil
			}
		}
		return
	}
	switch {
	case c.chance(30):
		f.ExpiresIn = pick(c, []int64{1, 20_000, 100_000, 4 * 60 * 60 * 1000, -1})
	case c.chance(15):
		f.ExpiresAt = c.m.at + pick(c, []int64{-1_000, 0, 20_000, 100_000})
	}
	f.Kind = pick(c, []string{"admin", "admin", "admin", "auditor", "read-only", "owner"})
	if f.Kind == "read-only" != c.chance(10) {
		f.ProjectIDs = []string{c.project()}
	}
}

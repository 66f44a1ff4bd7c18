package oracle

// maxAttempts is the maximum number of starts of a queue item.
const maxAttempts = 1000

// fate returns why a session can no longer hold an item, "" if it can.
func (j *Judge) fate(id string) string {
	s := j.sessions[id]
	switch {
	case s == nil:
		return endDeleted
	case s.ended != "":
		return s.ended
	case s.lost:
		return "lost"
	}
	return ""
}

// line returns the command's queue, and the session that pulls from it; no session when a user names only the queue.
func (a *asked) line() (*queue, *session) {
	if a.by.kind == byUser && a.f.SessionID == "" {
		q := a.queues[queueKey{a.event.Project, a.f.Queue}]
		switch {
		case !isID(a.f.Queue):
			a.refuse(codeInvalid)
		case q == nil:
			a.refuse(codeFound)
		}
		return q, nil
	}
	s := a.ownSession()
	switch {
	case s == nil:
		return nil, nil
	case s.strategy != "queue":
		a.refuse(codeInvalid)
	case a.queues[s.queue] == nil:
		a.refuse(codeFound)
	case a.f.Queue != "" && a.f.Queue != s.queue.name:
		a.refuse(codeAllowed)
	}
	return a.queues[s.queue], s
}

// queueName returns the name of the command's queue.
func (a *asked) queueName(s *session) string {
	if s != nil {
		return s.queue.name
	}
	return a.f.Queue
}

func (a *asked) createQueue() fact {
	if !a.liveProject(a.event.Project) {
		return nil
	}
	most := a.f.MaxAttempts
	if most == 0 {
		most = defaultAttempts
	}
	q := a.queues[queueKey{a.event.Project, a.f.Queue}]
	switch {
	case !isID(a.f.Queue), most < 0, most > maxAttempts:
		return a.no(codeInvalid)
	case q != nil && q.session == "" && q.trust == a.f.TrustReports && q.maxAttempts == most:
		return a.so()
	case a.sessions[a.f.Queue] != nil:
		return a.no(codeConflict)
	}
	return &queueCreated{Queue: a.f.Queue, TrustReports: a.f.TrustReports, MaxAttempts: most}
}

func (a *asked) pushItem() fact {
	_, s := a.line()
	if a.refused() {
		return nil
	}
	a.tasksOf(a.event.Project, []string{a.f.TaskID})
	return &itemPushed{Queue: a.queueName(s), TaskID: a.f.TaskID}
}

func (a *asked) startItem() fact {
	q, s := a.line()
	if a.refused() {
		return nil
	}
	first, before := a.first(q)
	switch {
	case s == nil:
		return a.no(codeInvalid)
	case s.ended != "":
		return a.no(codeAllowed)
	case s.lost:
		return a.no(codeConflict)
	case s.holds != nil:
		return a.so()
	case s.isDone() && a.thirdOn():
		return a.no(codeConflict)
	case first == nil:
		return a.so()
	}
	return &itemStarted{
		Queue:      s.queue.name,
		TaskID:     first.task,
		SessionID:  s.id,
		Attempt:    first.attempts + 1,
		PassedOver: before,
	}
}

func (a *asked) endItem() fact {
	q, s := a.line()
	if a.refused() {
		return nil
	}
	state := map[string]string{"queue:complete": itemDone, "queue:fail": itemBroken}[a.ID]
	last := q.itemOf(a.f.TaskID)
	switch {
	case s == nil:
		return a.no(codeInvalid)
	case s.holds == nil && last != nil && last.state == state && last.holder == s.id:
		if a.thirdOn() && state == itemBroken && a.f.Reason != "" && a.f.Reason != last.reason {
			return a.no(codeConflict)
		}
		return a.so()
	case s.holds == nil, a.f.TaskID != "" && a.f.TaskID != s.holds.task:
		return a.no(codeConflict)
	case state == itemDone && a.thirdOn() && a.statusOf(s.holds.task) == blocked:
		return a.no(codeConflict)
	case state == itemDone:
		return &itemCompleted{Queue: s.queue.name, TaskID: s.holds.task, SessionID: s.id}
	}
	return &itemFailed{
		Queue:     s.queue.name,
		TaskID:    s.holds.task,
		SessionID: s.id,
		Reason:    a.f.Reason,
	}
}

func (a *asked) skipItem() fact {
	q, s := a.line()
	if a.refused() {
		return nil
	}
	skips := &itemSkipped{Queue: a.queueName(s), Reason: a.f.Reason}
	first, _ := a.first(q)
	switch {
	case s != nil && s.holds != nil:
		first, skips.Held = s.holds, true
	case s != nil && a.f.TaskID != "" && s.last == a.f.TaskID: // it held that item earlier
		return a.no(codeConflict)
	case s != nil && s.ended != "":
		return a.no(codeAllowed)
	case s != nil && s.isDone():
		return a.no(codeConflict)
	}
	if first == nil || a.f.TaskID != "" && a.f.TaskID != first.task {
		return a.no(codeConflict)
	}
	if skips.TaskID = first.task; s != nil {
		skips.SessionID = s.id
	}
	return skips
}

// meant returns the item of a requeue: a task that is in only one queue needs no queue name.
func (a *asked) meant() (queueKey, *item) {
	if a.f.Queue != "" {
		key := queueKey{a.event.Project, a.f.Queue}
		return key, a.queues[key].itemOf(a.f.TaskID)
	}
	var key queueKey
	var meant *item
	for at, q := range a.queues {
		i := q.itemOf(a.f.TaskID)
		switch {
		case i == nil:
		case meant != nil:
			a.refuse(codeInvalid)
		default:
			key, meant = at, i
		}
	}
	if meant == nil {
		a.refuse(codeInvalid)
	}
	return key, meant
}

func (a *asked) requeueItem() fact {
	if a.liveTask(a.f.TaskID) == nil {
		return nil
	}
	key, i := a.meant()
	switch {
	case a.refused():
		return nil
	case i == nil:
		return a.no(codeFound)
	case i.state == queued && a.f.Reason != "" && a.f.Reason != i.again:
		return a.no(codeConflict)
	case i.state == queued:
		return a.so()
	}
	return &itemRequeued{Queue: key.name, TaskID: a.f.TaskID, Reason: a.f.Reason}
}

func (a *asked) takeBack() fact {
	i := a.itemOf(a.f.Queue, a.f.TaskID)
	switch {
	case i == nil:
		return a.no(codeFound)
	case i.state != processing:
		return a.so()
	}
	taken := itemLost{
		Queue:     a.f.Queue,
		TaskID:    i.task,
		SessionID: i.holder,
		Attempt:   i.attempts,
		Reason:    a.fate(i.holder),
	}
	if a.ID == "queue:quarantine" {
		return &itemQuarantined{taken}
	}
	return &itemReturned{taken}
}

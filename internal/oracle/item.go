package oracle

import (
	"slices"
	"strings"
)

// pulls judges that the session of a queue item's event acts for itself and pulls from that queue.
func (c *trial) pulls(sessionID, name string) *session {
	c.own(sessionID)
	s := c.aSession(sessionID)
	if c.by.kind != bySession {
		c.notDeleted(s)
	}
	if s != nil && s.queue != (queueKey{c.event.Project, name}) {
		c.fault(rulePull, "session %s pulls from queue %q, not %q", s.id, s.queue.name, name)
	}
	return s
}

type itemStarted struct {
	Queue      string `json:"queue"`
	TaskID     string `json:"taskId"`
	SessionID  string `json:"sessionId"`
	Attempt    int    `json:"attempt"`
	PassedOver int    `json:"passedOver"`
}

func (f *itemStarted) about() (kind, id string) { return "queue", f.Queue }
func (f *itemStarted) commands() []string       { return []string{"queue:start"} }

func (f *itemStarted) judge(c *trial) {
	s := c.pulls(f.SessionID, f.Queue)
	if s != nil {
		f.judgeHolder(c, s)
	}
	q, i := c.anItem(f.Queue, f.TaskID)
	if i == nil {
		return
	}
	if i.state != queued {
		c.fault(ruleHolder, "the item is not queued: it is %s%s", i.state, heldBy(i))
	} else {
		f.inOrder(c, q, i)
	}
	if f.Attempt != i.attempts+1 {
		c.fault(ruleAttempt,
			"the event says attempt %d, but the item was started %d times before", f.Attempt, i.attempts)
	}
}

func heldBy(i *item) string {
	if i.state != processing || i.holder == "" {
		return ""
	}
	return ", held by session " + i.holder
}

// judgeHolder judges that the session may take an item.
func (f *itemStarted) judgeHolder(c *trial, s *session) {
	if s.ended != "" && s.ended != endDeleted && c.by.kind != bySession {
		c.fault(rulePull, "session %s had already ended (%s)", s.id, s.ended)
	}
	if s.lost {
		c.fault(rulePull, "session %s is lost", s.id)
	}
	if s.holds != nil {
		c.fault(ruleHolder, "session %s holds task %s", s.id, s.holds.task)
	}
	if s.isDone() && c.thirdOn() {
		c.fault(rulePull, "session %s had reported that it is done", s.id)
	}
}

func (f *itemStarted) inOrder(c *trial, q *queue, i *item) {
	if !c.firstInLine(q, i) {
		return
	}
	if _, before := c.first(q); f.PassedOver != before {
		c.fault(rulePassed, "the event says that %d items were skipped, but %d were before it", f.PassedOver, before)
	}
}

// firstInLine judges that the item is the first eligible one.
func (c *trial) firstInLine(q *queue, i *item) bool {
	first, _ := c.first(q)
	switch {
	case first == i:
		return true
	case !c.eligible(q, i):
		c.fault(
			ruleOrder,
			"task %s cannot be started: it is %s, or waits for a dependency",
			i.task,
			c.statusOf(i.task),
		)
	default:
		c.fault(ruleOrder, "task %s is before task %s in the queue", first.task, i.task)
	}
	return false
}

func (j *Judge) statusOf(id string) string {
	t := j.tasks[id]
	if t == nil || t.deleted {
		return "deleted"
	}
	return t.status
}

func (f *itemStarted) fold(c *trial) {
	t := c.tasks[f.TaskID]
	if t != nil && t.status == todo {
		t.move(inProgress)
	}
	t.say(f.SessionID, "working", c.sequence)
	i := c.itemOf(f.Queue, f.TaskID)
	if i == nil {
		return
	}
	c.release(i, processing, c.event.ID)
	i.holder = f.SessionID
	i.attempts++
	if !slices.Contains(i.holders, f.SessionID) {
		i.holders = append(i.holders, f.SessionID)
	}
	if s := c.sessions[f.SessionID]; s != nil {
		s.holds, s.last = i, f.TaskID
		s.held[f.TaskID] = true
	}
}

// holds judges that the session holds the item.
func (c *trial) holds(queue, task, sessionID string) {
	c.pulls(sessionID, queue)
	if _, i := c.anItem(queue, task); i != nil && (i.state != processing || i.holder != sessionID) {
		c.fault(ruleHolder, "session %s does not hold task %s, which is %s%s", sessionID, task, i.state, heldBy(i))
	}
}

// laysDown ends an item, if the session held it.
func (c *trial) laysDown(queue, task, sessionID, state string) {
	if i := c.itemOf(queue, task); i != nil && i.state == processing && i.holder == sessionID {
		c.release(i, state, c.event.ID)
	}
}

type itemCompleted struct {
	Queue     string `json:"queue"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
}

func (f *itemCompleted) about() (kind, id string) { return "queue", f.Queue }
func (f *itemCompleted) commands() []string       { return []string{"queue:complete"} }

func (f *itemCompleted) judge(c *trial) {
	c.holds(f.Queue, f.TaskID, f.SessionID)
	if c.thirdOn() && c.statusOf(f.TaskID) == blocked {
		c.fault(ruleHolder, "task %s is blocked, but session %s completes its item", f.TaskID, f.SessionID)
	}
}

func (f *itemCompleted) fold(c *trial) {
	c.tasks[f.TaskID].say(f.SessionID, completed, c.sequence)
	c.laysDown(f.Queue, f.TaskID, f.SessionID, itemDone)
}

type itemFailed struct {
	Queue     string `json:"queue"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
	Reason    string `json:"reason"`
}

func (f *itemFailed) about() (kind, id string) { return "queue", f.Queue }
func (f *itemFailed) commands() []string       { return []string{"queue:fail"} }
func (f *itemFailed) judge(c *trial)           { c.holds(f.Queue, f.TaskID, f.SessionID) }

func (f *itemFailed) fold(c *trial) {
	c.tasks[f.TaskID].say(f.SessionID, "failed", c.sequence)
	c.laysDown(f.Queue, f.TaskID, f.SessionID, itemBroken)
	if i := c.itemOf(f.Queue, f.TaskID); i != nil {
		i.reason = f.Reason
	}
}

type itemSkipped struct {
	Queue     string `json:"queue"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
	Held      bool   `json:"held"`
	Reason    string `json:"reason"`
}

func (f *itemSkipped) about() (kind, id string) { return "queue", f.Queue }
func (f *itemSkipped) commands() []string       { return []string{"queue:skip"} }

func (f *itemSkipped) judge(c *trial) {
	if f.Held {
		c.holds(f.Queue, f.TaskID, f.SessionID)
		return
	}
	// A user skips the next item of a named queue, without a session.
	if f.SessionID != "" || c.by.kind != byUser {
		if s := c.pulls(f.SessionID, f.Queue); s != nil && s.holds != nil {
			c.fault(ruleHolder, "session %s holds task %s, but skips another", s.id, s.holds.task)
		} else if s != nil && s.isDone() && c.fifthOn() {
			c.fault(rulePull, "session %s had reported that it is done", s.id)
		}
	}
	q, i := c.anItem(f.Queue, f.TaskID)
	switch {
	case i == nil:
	case i.state != queued:
		c.fault(ruleHolder, "the item is not queued: it is %s%s", i.state, heldBy(i))
	default:
		c.firstInLine(q, i)
	}
}

func (f *itemSkipped) fold(c *trial) {
	if f.Held {
		c.tasks[f.TaskID].retract(f.SessionID)
		c.laysDown(f.Queue, f.TaskID, f.SessionID, skipped)
	} else if i := c.itemOf(f.Queue, f.TaskID); i != nil && i.state == queued {
		c.leaves(i, skipped)
		i.holder, i.cause = f.SessionID, c.event.ID
	}
}

type itemRequeued struct {
	Queue  string `json:"queue"`
	TaskID string `json:"taskId"`
	Reason string `json:"reason"`
}

func (f *itemRequeued) about() (kind, id string) { return "queue", f.Queue }
func (f *itemRequeued) commands() []string       { return []string{"queue:requeue"} }

func (f *itemRequeued) judge(c *trial) {
	c.aTask(f.TaskID)
	c.workable(f.TaskID)
	q, i := c.anItem(f.Queue, f.TaskID)
	c.enters(q, []string{f.TaskID})
	if i != nil && i.state != quarantined && i.state != itemBroken && i.state != skipped && !c.isReopened(i) {
		c.fault(ruleRequeue, "the item is %s, not quarantined, failed or skipped, and its task was not reopened",
			i.state)
	}
}

// isReopened reports whether an item is completed and its task is neither completed nor reported as such.
func (c *trial) isReopened(i *item) bool {
	t := c.tasks[i.task]
	return c.thirdOn() && i.state == completed && t != nil && t.status != completed && !t.saidDone()
}

func (f *itemRequeued) fold(c *trial) {
	if i := c.itemOf(f.Queue, f.TaskID); i != nil {
		c.release(i, skipped, c.event.ID)
		c.queueUp(i)
		i.again = f.Reason
	}
}

// itemLost is the common part of item_returned and item_quarantined.
type itemLost struct {
	Queue     string `json:"queue"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
	Attempt   int    `json:"attempt"`
	Reason    string `json:"reason"`
}

func (f *itemLost) about() (kind, id string) { return "queue", f.Queue }

// judge judges that the holder is gone, and returns the queue and the item.
func (f *itemLost) judge(c *trial) (*queue, *item) {
	q, i := c.anItem(f.Queue, f.TaskID)
	if i == nil {
		return q, nil
	}
	if i.state != processing || i.holder != f.SessionID {
		c.fault(
			ruleHolder,
			"session %s does not hold task %s, which is %s%s",
			f.SessionID,
			f.TaskID,
			i.state,
			heldBy(i),
		)
	}
	if f.Attempt != i.attempts {
		c.fault(ruleAttempt,
			"the event says attempt %d, but the item was started %d times before", f.Attempt, i.attempts)
	}
	if s := c.aSession(f.SessionID); s != nil && !slices.Contains(s.fates(), f.Reason) {
		c.fault(ruleReturn,
			"the event gives the state of session %s as %q, but it is %q", s.id, f.Reason, strings.Join(s.fates(),
				", "))
	}
	return q, i
}

// fates are the reasons why a session no longer holds anything; none if it still may.
func (s *session) fates() []string {
	var all []string
	for _, fate := range []string{s.ended, s.endedBefore} {
		if fate != "" {
			all = append(all, fate)
		}
	}
	if s.lost {
		all = append(all, "lost")
	}
	return all
}

func (f *itemLost) fold(c *trial, state string) {
	c.tasks[f.TaskID].retract(f.SessionID)
	if i := c.itemOf(f.Queue, f.TaskID); i != nil {
		c.release(i, state, c.event.ID)
	}
}

type itemReturned struct{ itemLost }

func (f *itemReturned) commands() []string { return []string{"queue:return"} }

func (f *itemReturned) judge(c *trial) {
	if q, i := f.itemLost.judge(c); i != nil && i.attempts >= q.maxAttempts {
		c.fault(ruleReturn,
			"the item was started %d times of at most %d, but is returned to the queue", i.attempts, q.maxAttempts)
	}
}

func (f *itemReturned) fold(c *trial) {
	f.itemLost.fold(c, processing)
	i := c.itemOf(f.Queue, f.TaskID)
	switch {
	case i == nil:
	case c.statusOf(f.TaskID) == "deleted": // nobody can start it any more
		c.leaves(i, skipped)
	default:
		c.giveBack(i)
	}
}

type itemQuarantined struct{ itemLost }

func (f *itemQuarantined) commands() []string { return []string{"queue:quarantine"} }

func (f *itemQuarantined) judge(c *trial) {
	if q, i := f.itemLost.judge(c); i != nil && i.attempts < q.maxAttempts {
		c.fault(ruleReturn,
			"the item was started only %d times of at most %d, but is quarantined", i.attempts, q.maxAttempts)
	}
}

func (f *itemQuarantined) fold(c *trial) { f.itemLost.fold(c, quarantined) }

package oracle

import (
	"maps"
	"slices"
)

// Limits of notices (docs/limits.md): how many wait for one session, and how many sessions one event notifies.
const (
	maxNotices  = 100
	maxNotified = 100
)

// notice lists the sessions that a change of a task's status notifies.
type notice struct {
	MailID     string   `json:"mailId"`
	SessionIDs []string `json:"sessionIds"`
}

// concerned returns the living sessions, sorted, that are notified of a move of a task. When it is blocked or
// cancelled, or one that was done or blocked is open again, those that have it or made a statement about it; when it is
// completed, those still at work on it. The one that moves it is not among them. reopens is set for a permitted
// task:reopen, which also opens a task that is only reported as completed, and says why one was reopened.
func (c *trial) concerned(t *task, to string, reopens bool) []string {
	if t == nil {
		return nil
	}
	stops := to == blocked || to == cancelled || to == completed
	done := t.status == completed || t.status == cancelled || t.status == blocked
	if again := (to == todo || to == inProgress) && (done || reopens); !stops && !again {
		return nil
	}
	return c.affected(to == completed, t)
}

// affected returns the living sessions, sorted, that have one of the tasks, lead the work on it or made a statement
// about it; with atWork only those that are not done, with the task or as a whole.
func (c *trial) affected(atWork bool, tasks ...*task) []string {
	if !c.thirdOn() {
		return nil
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		s := c.sessions[id]
		if s.ended != "" || c.by.kind == bySession && c.by.id == id || atWork && s.status == completed {
			continue
		}
		waiting := s.notices()
		if slices.ContainsFunc(tasks, func(t *task) bool {
			if t == nil {
				return false
			}
			word, spoke := t.words[id]
			own := spoke || c.hasTask(s, t)
			room := maxNotices
			if !own && atWork { // an orchestrator that only leads keeps room for what stops work
				room /= 2
			}
			return (own || c.leadsWork(s, t)) && (!atWork || word.says != completed) && waiting < room
		}) {
			all = append(all, id)
		}
	}
	return all[:min(len(all), maxNotified)]
}

// hasTask reports whether a session has a task or, with the tree strategy, one above it.
func (c *trial) hasTask(s *session, t *task) bool {
	return slices.Contains(s.tasks, t.id) || s.strategy == "tree" && c.hasAbove(s, t)
}

// leadsWork reports whether the user's decision about a task is also about what an orchestrator leads: it has a task
// above it, or it created it or spawned a session that has it or spoke about it, or it succeeds the one that did. Older
// rules told only whoever has the task.
func (c *trial) leadsWork(s *session, t *task) bool {
	if s.letter != "O" || c.by.kind != byUser || !c.fifthOn() {
		return false
	}
	if c.hasAbove(s, t) || c.leadsFor(s, t.creator) {
		return true
	}
	for _, other := range c.sessions {
		if other.ended == endDeleted || other.spawnedBy == "" {
			continue
		}
		_, spoke := t.words[other.id]
		if (spoke || slices.Contains(other.tasks, t.id)) && c.leadsFor(s, other.spawnedBy) {
			return true
		}
	}
	return false
}

// maxSucceeded is how many of an orchestrator's tasks one that succeeds it may share with it to be notified.
const maxSucceeded = 10

// leadsFor reports whether an orchestrator is the session with an id, or is at work and succeeds it with one of its
// first tasks.
func (c *trial) leadsFor(s *session, id string) bool {
	before := c.sessions[id]
	if before == nil || s.id == id {
		return before != nil
	}
	if s.ended != "" || s.isDone() || !c.succeeds(s, before) {
		return false
	}
	return slices.ContainsFunc(before.tasks[:min(len(before.tasks), maxSucceeded)], func(id string) bool {
		t := c.tasks[id]
		return t != nil && !t.deleted && slices.Contains(s.tasks, id)
	})
}

// hasAbove reports whether a session has a task above this one.
func (c *trial) hasAbove(s *session, t *task) bool {
	for up := c.tasks[t.parent]; up != nil && !up.deleted; up = c.tasks[up.parent] {
		if slices.Contains(s.tasks, up.id) {
			return true
		}
	}
	return false
}

// notices counts the notices that wait for a session.
func (s *session) notices() (n int) {
	for _, l := range s.mail {
		if l.notice {
			n++
		}
	}
	return n
}

// notify returns the notice of a move; nil if nobody is notified.
func (c *trial) notify(t *task, to string, reopens bool, id string) *notice {
	return noticeTo(c.concerned(t, to, reopens), id)
}

// noticeTo returns the notice to sessions, nil if there are none.
func noticeTo(told []string, id string) *notice {
	if told == nil {
		return nil
	}
	return &notice{MailID: id, SessionIDs: told}
}

// notified judges which sessions an event notifies.
func (c *trial) notified(n *notice, t *task, to string, reopens bool) {
	c.tells(n, c.concerned(t, to, reopens))
}

// tells judges whether an event notifies exactly these sessions.
func (c *trial) tells(n *notice, must []string) {
	if n == nil {
		n = &notice{}
	}
	if !slices.Equal(n.SessionIDs, must) {
		c.fault(ruleNotice, "it notifies sessions %q, but must notify %q", n.SessionIDs, must)
	}
	for _, id := range n.SessionIDs {
		s := c.sessions[id]
		if n.MailID == "" || c.questions[n.MailID] != nil || s != nil && s.mail[n.MailID].event != "" {
			c.fault(ruleExists, "mail %q already exists", n.MailID)
		}
	}
}

// deliver puts a notice into the mail of its sessions.
func (c *trial) deliver(n *notice) {
	if n == nil {
		return
	}
	for _, id := range n.SessionIDs {
		if s := c.sessions[id]; s != nil {
			s.mail[n.MailID] = unreadMessage{event: c.event.ID, from: c.by, notice: true}
		}
	}
}

// made returns the id of the notice, "" if there is none.
func (n *notice) made() string {
	if n == nil {
		return ""
	}
	return n.MailID
}

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

// concerned returns the living sessions, sorted, that are notified when a task is blocked or cancelled, or when one
// that was done or blocked is open again: those that have it or made a statement about it, except the one that moves
// it. reopens is set for the command that also opens a task that is only reported as completed.
func (c *trial) concerned(t *task, to string, reopens bool) []string {
	if !c.thirdOn() || t == nil {
		return nil
	}
	stops := to == blocked || to == cancelled
	done := t.status == completed || t.status == cancelled || t.status == blocked
	if again := (to == todo || to == inProgress) && (done || reopens && t.reopenable()); !stops && !again {
		return nil
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		s := c.sessions[id]
		_, spoke := t.words[id]
		if s.ended == "" && (spoke || slices.Contains(s.tasks, t.id)) && s.notices() < maxNotices &&
			(c.by.kind != bySession || c.by.id != id) {
			all = append(all, id)
		}
	}
	return all[:min(len(all), maxNotified)]
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
	told := c.concerned(t, to, reopens)
	if told == nil {
		return nil
	}
	return &notice{MailID: id, SessionIDs: told}
}

// notified judges which sessions an event notifies.
func (c *trial) notified(n *notice, t *task, to string, reopens bool) {
	must := c.concerned(t, to, reopens)
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

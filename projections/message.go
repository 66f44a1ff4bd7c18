package projections

import (
	"cmp"
	"fmt"
	"slices"

	"maestro/events"
)

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	NoticeReopened  NoticeKind = "reopened"  // a task that was done is open again
	NoticeUnblocked NoticeKind = "unblocked" // a task is no longer blocked
	NoticeBlocked   NoticeKind = "blocked"   // a task is blocked
	NoticeCancelled NoticeKind = "cancelled" // a task is cancelled
	NoticeCompleted NoticeKind = "completed" // a task on which a session works is completed
	NoticeDeleted   NoticeKind = "deleted"   // a task on which a session works is deleted
)

// Message is a message or notice that its session has not received. Received ones are on its timeline.
type Message struct {
	ID string
	// Notice is "" for a written message.
	Notice NoticeKind `json:",omitempty"`
	// From is the source of the event: the user, or a session.
	From string
	// Text is that of the message, or the reason of the notice, "" if none was given.
	Text string
	// About is the task that it is about, "" if none.
	About string
	// At is in milliseconds since 1970.
	At int64
	// Sequence orders it among the answers that wait for the session.
	Sequence uint64
	// Sent is the event.
	Sent Cause
}

// Message returns a message that the session has not received, or nil.
func (x *Session) Message(id string) *Message {
	at := slices.IndexFunc(x.Mail, func(m Message) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	return &x.Mail[at]
}

// MailFor returns the session to which the change brought mail, "" if none.
func (c Change) MailFor() string {
	switch after := c.After.(type) {
	case *Session:
		if before := c.Before.(*Session); before != nil && len(after.Mail) > len(before.Mail) {
			return after.ID
		}
	case *Input:
		if before := c.Before.(*Input); before != nil && after.AnsweredAt != before.AnsweredAt {
			return after.SessionID
		}
	}
	return ""
}

func (s *State) sessionMessaged(f fact, d *events.SessionMessaged) error {
	x := s.Session(d.SessionID)
	switch {
	case x == nil:
		return missing("session", d.SessionID)
	case x.Message(d.MessageID) != nil || s.Input(d.MessageID) != nil:
		return exists("message", d.MessageID)
	}
	s.mail(d.SessionID, Message{
		ID:       d.MessageID,
		From:     f.Source,
		Text:     d.Text,
		About:    d.About,
		At:       f.at,
		Sequence: f.sequence,
		Sent:     f.cause(),
	})
	s.remember(f, d.SessionID, d.About)
	s.note(f, 0)
	return nil
}

// StatusReasonText returns the reason of the last change of the task's status, "" if none was given.
func (t *Task) StatusReasonText() string {
	if reason := t.StatusReason(); reason != nil {
		return reason.Text
	}
	return ""
}

// ReopenReason returns why a task in progress was reopened; "" if it was not, or if no reason was given.
func (t *Task) ReopenReason() string {
	if t.Status != events.TaskInProgress {
		return ""
	}
	return t.StatusReasonText()
}

// notified checks the sessions that a change of a task's status notifies.
func (s *State) notified(n *events.Notice) error {
	if n == nil {
		return nil
	}
	for i, id := range n.SessionIDs {
		x := s.Session(id)
		if x != nil {
			s.lookedThrough(len(x.Mail))
		}
		switch {
		case i > 0 && n.SessionIDs[i-1] >= id:
			return fmt.Errorf("it tells %q, which is not in order", n.SessionIDs)
		case x == nil:
			return missing("session", id)
		case x.Message(n.MailID) != nil || s.Input(n.MailID) != nil:
			return exists("message", n.MailID)
		}
	}
	return nil
}

// notify puts a change of a task's status into the mail of the sessions to notify.
func (s *State) notify(f fact, task string, from, to events.TaskStatus, reason string, n *events.Notice) {
	if n == nil {
		return
	}
	kind := NoticeReopened
	switch {
	case to == events.TaskBlocked:
		kind = NoticeBlocked
	case to == events.TaskCancelled:
		kind = NoticeCancelled
	case to == events.TaskCompleted:
		kind = NoticeCompleted
	case from == events.TaskBlocked:
		kind = NoticeUnblocked
	}
	for _, id := range n.SessionIDs {
		s.mailNotice(f, id, kind, n.MailID, task, reason)
	}
}

// notifyOfDeletion tells each session to notify which of its tasks is deleted, and an orchestrator that has none of
// them, which of those that it created or spawned a session for: the first of them, parents first.
func (s *State) notifyOfDeletion(f fact, d *events.TaskDeleted) {
	if d.Notice == nil {
		return
	}
	about := make(map[string]string, len(d.Notice.SessionIDs))
	leads := make(map[string]string, len(d.Notice.SessionIDs))
	for _, id := range append([]string{d.TaskID}, d.Descendants...) {
		t := s.Task(id)
		if t == nil {
			continue
		}
		s.work(uint64(len(t.SessionIDs) + t.Speakers()))
		if _, author, ok := SessionOfSource(t.CreatedBy); ok {
			leads[author] = cmp.Or(leads[author], id)
		}
		for _, session := range t.SessionIDs {
			about[session] = cmp.Or(about[session], id)
			if x := s.SessionEver(session); x != nil && x.SpawnedBy != "" {
				leads[x.SpawnedBy] = cmp.Or(leads[x.SpawnedBy], id)
			}
		}
		for _, said := range t.AllSays() {
			about[said.SessionID] = cmp.Or(about[said.SessionID], id)
		}
	}
	for _, id := range d.Notice.SessionIDs {
		task := cmp.Or(about[id], d.TaskID)
		if about[id] == "" && s.Session(id).Role == events.RoleOrchestrator {
			task = cmp.Or(leads[id], d.TaskID)
		}
		s.mailNotice(f, id, NoticeDeleted, d.Notice.MailID, task, "")
	}
}

// mailNotice puts what became of a task into the mail of a session.
func (s *State) mailNotice(f fact, session string, kind NoticeKind, id, task, reason string) {
	s.mail(session, Message{
		ID:       id,
		Notice:   kind,
		From:     f.Source,
		Text:     reason,
		About:    task,
		At:       f.at,
		Sequence: f.sequence,
		Sent:     f.cause(),
	})
}

// mail appends a message to a session's unread mail.
func (s *State) mail(session string, m Message) {
	s.changeSession(session, func(x *Session) {
		s.work(uint64(len(x.Mail)))
		fields := x.ownFields()
		fields.Mail = append(slices.Clip(fields.Mail), m)
	})
	s.deliver(session, m.ID)
}

// messageDelivered removes a received message from the session's mail.
func (s *State) messageDelivered(d *events.InputDelivered) error {
	x := s.Session(d.SessionID)
	if x == nil || x.Message(d.InputID) == nil {
		return fmt.Errorf("it delivers %q, which is no question and no message that waits for session %q",
			d.InputID, d.SessionID)
	}
	s.work(uint64(len(x.Mail)))
	s.changeSession(d.SessionID, func(x *Session) {
		fields := x.ownFields()
		fields.Mail = slices.DeleteFunc(slices.Clone(fields.Mail), func(m Message) bool { return m.ID == d.InputID })
		if len(fields.Mail) == 0 {
			fields.Mail = nil // as if there never was one
		}
	})
	s.undelivered.put(d.SessionID, s.omit(s.undelivered.get(d.SessionID), d.InputID))
	return nil
}

// deliver appends mail to a session's unread mail.
func (s *State) deliver(session, id string) {
	undelivered := s.undelivered.get(session)
	s.work(uint64(len(undelivered)))
	s.undelivered.put(session, append(slices.Clip(undelivered), id))
}

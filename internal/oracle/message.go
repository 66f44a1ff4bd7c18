package oracle

import (
	"slices"
	"strings"
)

// Limits of the messages that wait for one session (docs/limits.md): those from sessions, or from users; those from one
// session; and the bytes of one.
const (
	maxMail        = 100
	maxMailFromOne = 10
	maxMessage     = 8 << 10
)

// unreadMessage is a message that its session has not received.
type unreadMessage struct {
	event string
	from  actor
	// notice: it is about a change of a task.
	notice bool
}

type sessionMessaged struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	About     string `json:"about"`
	Forced    bool   `json:"forced"`
}

func (f *sessionMessaged) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionMessaged) commands() []string       { return []string{"session:message"} }
func (f *sessionMessaged) made() string             { return f.MessageID }

func (f *sessionMessaged) judge(c *trial) {
	s := c.aLiveSession(f.SessionID)
	if s == nil {
		return
	}
	c.correspondent(s)
	if s.mail[f.MessageID].event != "" || c.questions[f.MessageID] != nil || f.MessageID == "" {
		c.fault(ruleExists, "message %q already exists", f.MessageID)
	}
	if strings.TrimSpace(f.Text) == "" {
		c.fault(ruleSession, "the message is empty")
	}
	if c.thirdOn() && f.Forced != s.isDone() {
		c.fault(ruleEnded, "session %s is done: %v, and the message is forced: %v", s.id, s.isDone(), f.Forced)
	}
	if s.mailFull(c.by) || len(f.Text) > maxMessage {
		c.fault(ruleLimit, "%d messages already wait for session %s, or this one is too long: %d bytes",
			len(s.mail), s.id, len(f.Text))
	}
	if t := c.tasks[f.About]; f.About != "" && (t == nil || t.deleted) {
		c.fault(ruleExists, "task %q does not exist", f.About)
	} else if f.About != "" && !c.tellsOf(t) {
		c.fault(ruleScope, "task %s is in project %q, in which the sender does not work", f.About, t.project)
	}
}

// tellsOf reports whether a message may be about a task: one of the event's project, where its sender works, or of the
// sender's own project.
func (c *trial) tellsOf(t *task) bool {
	if c.by.kind != bySession {
		return t.project == c.event.Project
	}
	s := c.sessions[c.by.id]
	return s != nil && (t.project == s.project || t.project == c.event.Project && c.worksIn(s, t.project))
}

// mailFull reports whether so many messages wait for a session that its sender has to wait.
func (s *session) mailFull(by actor) bool {
	own, alike := 0, 0
	for _, l := range s.mail {
		if l.notice {
			continue
		}
		if (l.from.kind == bySession) == (by.kind == bySession) {
			alike++
		}
		if l.from.kind == bySession && by.kind == bySession && l.from.id == by.id {
			own++
		}
	}
	return own >= maxMailFromOne || alike >= maxMail
}

// correspondent judges that a session sends a message to the session that leads it, or to one that it leads.
func (c *trial) correspondent(s *session) {
	by := c.sessions[c.by.id]
	if c.thirdOn() && (c.leads(by, s) || c.leads(s, by)) {
		return
	}
	if c.by.kind == bySession && s.spawnedBy != c.by.id && (by == nil || by.spawnedBy != s.id) {
		c.fault(ruleSpawner, "neither of the sessions %s and %s spawned the other", c.by.id, s.id)
	}
}

func (f *sessionMessaged) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.mail[f.MessageID] = unreadMessage{event: c.event.ID, from: c.by}
	}
}

// isMessage reports whether commands are the command that sends a message to a session.
func isMessage(commands []string) bool {
	return slices.Equal(commands, new(sessionMessaged).commands())
}

func (a *asked) messageSession() fact {
	if a.by.kind == bySession && a.f.SessionID == "" {
		if a.f.SessionID = a.sessions[a.by.id].spawnedBy; a.f.SessionID == "" {
			return a.no(codeAllowed)
		}
	}
	s := a.liveSession()
	if s == nil {
		return nil
	}
	switch a.correspondent(s); {
	case a.refused():
		return nil
	case s.ended != "", s.isDone() && !a.f.Force:
		return a.no(codeConflict)
	case strings.TrimSpace(a.f.Text) == "":
		return a.no(codeInvalid)
	case strings.TrimSpace(a.f.Text) == "":
		return a.no(codeInvalid)
	case len(a.f.Text) > maxMessage:
		return a.no(codeLimit)
	case a.f.About != "" && !isID(a.f.About):
		return a.no(codeInvalid)
	}
	if t := a.tasks[a.f.About]; a.f.About != "" && (t == nil || t.deleted || !a.tellsOf(t)) {
		return a.no(codeFound)
	}
	return &sessionMessaged{
		SessionID: s.id,
		MessageID: a.fresh,
		Text:      a.f.Text,
		About:     a.f.About,
		Forced:    s.isDone(),
	}
}

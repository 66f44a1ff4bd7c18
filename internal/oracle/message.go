package oracle

import "strings"

// maxMail is how many messages may wait for one session (docs/limits.md).
const maxMail = 100

type sessionMessaged struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	About     string `json:"about"`
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
	if s.mail[f.MessageID] != "" || c.questions[f.MessageID] != nil || f.MessageID == "" {
		c.fault(ruleExists, "the message %q was there before", f.MessageID)
	}
	if strings.TrimSpace(f.Text) == "" {
		c.fault(ruleSession, "the message is empty")
	}
	if len(s.mail) >= maxMail || len(f.Text) > maxStored {
		c.fault(ruleLimit, "%d messages wait for session %s, and this one has %d bytes", len(s.mail), s.id, len(f.Text))
	}
	if f.About != "" {
		c.aTask(f.About)
	}
}

// correspondent judges that a session writes to the one that spawned it, or to one that it spawned.
func (c *trial) correspondent(s *session) {
	by := c.sessions[c.by.id]
	if c.by.kind == bySession && s.spawnedBy != c.by.id && (by == nil || by.spawnedBy != s.id) {
		c.fault(ruleSpawner, "neither of the sessions %s and %s spawned the other", c.by.id, s.id)
	}
}

func (f *sessionMessaged) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.mail[f.MessageID] = c.event.ID
	}
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
	case s.ended != "":
		return a.no(codeConflict)
	case len(a.f.Text) > maxStored:
		return a.no(codeInvalid)
	case a.f.About != "" && !isID(a.f.About):
		return a.no(codeInvalid)
	}
	if t := a.tasks[a.f.About]; a.f.About != "" && (t == nil || t.deleted || t.project != s.project) {
		return a.no(codeFound)
	}
	return &sessionMessaged{
		SessionID: s.id,
		MessageID: a.fresh,
		Text:      a.f.Text,
		About:     a.f.About,
	}
}

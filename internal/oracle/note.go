package oracle

import "strings"

type sessionNoted struct {
	SessionID string `json:"sessionId"`
	Type      string `json:"type"`
}

func (f *sessionNoted) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionNoted) commands() []string       { return []string{"session:note"} }

func (f *sessionNoted) judge(c *trial) {
	s := c.aSession(f.SessionID)
	if f.ofSpawned(c) {
		c.spawner(s)
	} else {
		c.own(f.SessionID)
	}
	// The permission check has already reported an ended session that acts itself.
	if c.by.kind != bySession {
		c.notDeleted(s)
	} else if c.thirdOn() && f.reserved(c) {
		c.fault(ruleNote, "session %s may not write a note of type %q, which is reserved", c.by.id, f.Type)
	}
}

// ofSpawned reports whether a session notes how the command of another one ended, which only its spawner may.
func (f *sessionNoted) ofSpawned(c *trial) bool {
	return c.thirdOn() && c.by.kind == bySession && f.Type == "command_exited" && f.SessionID != c.by.id
}

// reserved reports whether a session may not write the type itself: the system, its reports or the one that runs its
// command write it. Clients without credentials note what their reports write.
func (f *sessionNoted) reserved(c *trial) bool {
	switch f.Type {
	case "task_completed", "task_blocked", "error", "needs_input":
		return c.event.Authn != "none"
	case "command_exited":
		return f.SessionID == c.by.id && !f.nobodyElse(c)
	}
	return f.decided()
}

// nobodyElse reports whether the orchestrator that may have run the session's command has ended: then the session may
// note its end itself.
func (f *sessionNoted) nobodyElse(c *trial) bool {
	s := c.sessions[f.SessionID]
	if s == nil || !c.fifthOn() {
		return false
	}
	above := c.sessions[s.spawnedBy]
	return above != nil && above.ended != ""
}

// decided reports whether the system writes the type.
func (f *sessionNoted) decided() bool {
	noun, _, of := strings.Cut(f.Type, "_")
	return of && (noun == "session" || noun == "input" || noun == "task")
}

func (f *sessionNoted) fold(*trial) {}

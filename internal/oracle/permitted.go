package oracle

import (
	"slices"
	"strings"
)

// system is the part of the table that needs no state: the system alone writes what a passed deadline requires.
func (c *trial) system(what fact) {
	if areSystemCommands(what.commands()) != (c.by.kind == bySystem) {
		c.fault(
			ruleSystem,
			"%s comes from %s: the system writes exactly the events of passed deadlines",
			c.event.Type,
			c.event.Source,
		)
	}
}

// permitted checks whether the table allows this to the actor, and whether the actor is known, alive and in its
// project.
func (c *trial) permitted(what fact) {
	switch {
	case areSystemCommands(what.commands()): // [trial.system] judges who wrote it
	case c.by.kind == byUser:
		c.user(what.commands())
	case c.by.kind == bySession:
		c.session(what.commands())
	case c.by.kind == byRunner:
		if !slices.ContainsFunc(what.commands(), func(id string) bool { return mayUse(id, "R") }) {
			c.fault(rulePermitted, "a runner may not write %s", c.event.Type)
		}
	}
	later := func(id string) bool { return slices.Contains(sinceSixth, id) }
	if !c.sixthOn() && slices.ContainsFunc(what.commands(), later) {
		c.fault(rulePermitted, "version %s of the rules has no %s", c.event.Rules, strings.Join(what.commands(), ", "))
	}
	c.projectLives(what)
}

// thirdOn reports whether version 3 of the rules or a later one decided the event.
func (c *trial) thirdOn() bool { return c.event.Rules != "1" && c.event.Rules != "2" }

// fifthOn reports whether version 5 of the rules or a later one decided the event.
func (c *trial) fifthOn() bool { return c.thirdOn() && c.event.Rules != "3" && c.event.Rules != "4" }

// sixthOn reports whether version 6 of the rules or a later one decided the event.
func (c *trial) sixthOn() bool { return c.fifthOn() && c.event.Rules != "5" }

func (c *trial) user(commands []string) {
	t := c.tokens[c.by.id]
	if c.by.id != "admin" && (!t.good(c.at()) || t.kind != "admin") {
		c.fault(ruleUser, "%q is not a valid admin token", c.by.id)
	}
	if !slices.ContainsFunc(commands, func(id string) bool { return mayUse(id, "U") }) {
		c.fault(rulePermitted, "the user may not use %s", strings.Join(commands, ", "))
	}
}

// areSystemCommands reports whether commands belong to the system.
func areSystemCommands(commands []string) bool {
	return slices.ContainsFunc(commands, func(id string) bool { return mayUse(id, "S") })
}

func (c *trial) session(commands []string) {
	s := c.sessions[c.by.id]
	if s == nil {
		c.fault(
			rulePermitted,
			"session %q does not exist, so it has no permissions",
			c.by.id,
		)
		return
	}
	if s.project != c.by.project {
		c.fault(ruleScope, "session %s belongs to project %q, not to %q", s.id, s.project, c.by.project)
	}
	if s.ended != "" && !strings.HasPrefix(commands[0], "report:") {
		c.fault(ruleEnded, "session %s had already ended (%s)", s.id, s.ended)
	}
	c.listed(s, commands)
	if commands[0] != "project:create" {
		c.scope(s, commands)
	}
}

// listed judges the command against the table and the session's frozen list. Every session may receive its mail:
// otherwise it would be shown the same mail again and again.
func (c *trial) listed(s *session, commands []string) {
	ok := func(id string) bool {
		return mayUse(id, s.letter) && (s.commands[id] || c.thirdOn() && id == "input:received")
	}
	if !slices.ContainsFunc(commands, ok) {
		c.fault(
			rulePermitted,
			"session %s (%s, %s) may not use %s",
			s.id,
			s.role,
			s.strategy,
			strings.Join(commands, ", "),
		)
	}
}

// scope judges whether the session may write in the event's project. In any project, it may send messages to the
// session that spawned it, and end those below it.
func (c *trial) scope(s *session, commands []string) {
	in := c.event.Project
	if c.worksIn(s, in) {
		return
	}
	if above := c.sessions[s.spawnedBy]; isMessage(commands) && above != nil && above.project == in {
		return
	}
	if p := c.projects[in]; ends(commands) && p != nil && c.below(c.sessions[p.creator]) {
		return
	}
	c.fault(ruleScope, "session %s of project %q may not write in project %q", s.id, s.project, in)
}

// worksIn reports whether a project is a session's own, or was created by an orchestrator session.
func (c *trial) worksIn(s *session, project string) bool {
	p := c.projects[project]
	return project == s.project || s.letter == "O" && p != nil && p.creator == s.id
}

// projectLives judges that the event's project exists. Two events may come after the project's deletion: a late report
// of a deleted session, and the return of the item that it still held.
func (c *trial) projectLives(what fact) {
	switch f := what.(type) {
	case *projectCreated,
		*tokenCreated,
		*tokenRevoked,
		*templateCreated,
		*templateUpdated,
		*templateReset,
		*templateDeleted,
		*tokenUsed,
		*textRedacted,
		*webhookCreated,
		*webhookUpdated,
		*webhookDeleted,
		*webhookParked,
		*webhookResumed:
		return
	case *sessionReported:
		if f.Late {
			return
		}
	}
	if c.by.kind == bySystem {
		return
	}
	if p := c.projects[c.event.Project]; p == nil || p.deleted {
		c.fault(ruleExists, "project %q does not exist", c.event.Project)
	}
}

// own judges that a session acts for itself.
func (c *trial) own(sessionID string) {
	if c.by.kind == bySession && c.by.id != sessionID {
		c.fault(ruleOwn, "session %s may not act for session %s", c.by.id, sessionID)
	}
}

// spawner judges that a session controls another because it spawned it.
func (c *trial) spawner(s *session) {
	if c.by.kind == bySession && s != nil && s.spawnedBy != c.by.id {
		c.fault(ruleSpawner, "session %s did not spawn session %s", c.by.id, s.id)
	}
}

// leader judges that a session leads another: it spawned it or, from version 3 of the rules on, succeeds the one that
// did.
func (c *trial) leader(s *session) {
	if c.by.kind != bySession || s == nil || c.thirdOn() && c.leads(c.sessions[c.by.id], s) {
		return
	}
	c.spawner(s)
}

// leads reports whether a session spawned another, or succeeds the one that did.
func (j *Judge) leads(above, s *session) bool {
	return above != nil && s != nil && s.spawnedBy != "" &&
		(s.spawnedBy == above.id || j.succeeds(above, j.sessions[s.spawnedBy]))
}

// succeeds reports whether an orchestrator took over from another that is not at work any more: in the same project and
// from the same spawner, it has a task that the other one had too.
func (j *Judge) succeeds(s, before *session) bool {
	if before == nil || s == before || s.ended == endDeleted || before.ended == "" && !before.isDone() ||
		s.letter != "O" || before.letter != "O" || s.project != before.project || s.spawnedBy != before.spawnedBy {
		return false
	}
	return slices.ContainsFunc(s.tasks, func(id string) bool { return slices.Contains(before.tasks, id) })
}

// below reports whether the acting session leads another, or one above it.
func (c *trial) below(s *session) bool {
	by := c.sessions[c.by.id]
	for ; s != nil && s.spawnedBy != ""; s = c.sessions[s.spawnedBy] {
		if c.leads(by, s) {
			return true
		}
	}
	return false
}

// inProject judges that an object of the event belongs to the event's project.
func (c *trial) inProject(what, id, project string) {
	if project != c.event.Project {
		c.fault(ruleScope,
			"%s %s belongs to project %q, but the event to project %q", what, id, project, c.event.Project)
	}
}

// aSession returns the event's session, and reports a fault if there is none.
func (c *trial) aSession(id string) *session {
	s := c.sessions[id]
	if s == nil {
		c.fault(ruleExists, "session %q does not exist", id)
		return nil
	}
	c.inProject("session", id, s.project)
	return s
}

// aLiveSession is aSession for a session that must not have ended.
func (c *trial) aLiveSession(id string) *session {
	s := c.aSession(id)
	// The permission check has already reported an ended session that acts itself.
	if s != nil && s.ended != "" && (c.by.kind != bySession || c.by.id != id) {
		c.fault(ruleEnded, "session %s had already ended (%s)", id, s.ended)
	}
	return s
}

// notDeleted judges that a session is still in the views.
func (c *trial) notDeleted(s *session) {
	if s != nil && s.ended == endDeleted {
		c.fault(ruleExists, "session %s was deleted", s.id)
	}
}

// aTask returns the event's task, and reports a fault if there is none.
func (c *trial) aTask(id string) *task {
	t := c.tasks[id]
	if t == nil || t.deleted {
		c.fault(ruleExists, "task %q does not exist", id)
		return t
	}
	c.inProject("task", id, t.project)
	return t
}

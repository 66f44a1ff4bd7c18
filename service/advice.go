package service

import (
	"errors"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// advise replaces a problem's next step if it names a command that the caller may not use, because an agent would try
// it.
func (s *Service) advise(c *Caller, p *Problem) {
	if c == nil || c.By.Kind == commands.ActorUser && c.By.Access == commands.AccessAdmin {
		return
	}
	follows := false
	s.Handler.View(func(state *projections.State) { follows = s.At(state, c).mayFollow(p.Next) })
	if !follows {
		p.Next = s.whomToAsk(c)
		if d, denied := p.Details.(*wire.Denied); denied {
			p.Details = &wire.Denied{Caller: d.Caller, For: d.For}
		}
	}
}

// mayRunAll reports whether a caller may use every command that a text tells it to run.
func mayRunAll(permits func(row string) bool, text string) bool {
	for _, line := range commands.LinesIn(text) {
		if !mayRun(permits, commands.WordsOf(line)) {
			return false
		}
	}
	return true
}

// warning returns a warning with those of its next steps whose commands the caller may use.
func (v View) warning(text string, next ...string) string {
	next = slices.DeleteFunc(slices.Clone(next), func(step string) bool { return !v.mayFollow(step) })
	if len(next) == 0 {
		return text
	}
	return text + ": " + strings.Join(next, "; ")
}

// mayFollow reports whether the caller may use every command that a step names, and may write to every session to which
// it would send a message.
func (v View) mayFollow(step string) bool {
	if !mayRunAll(v.mayUse, step) {
		return false
	}
	return v.mayNameSessions(step)
}

// mayUse reports whether advice to the caller may name a row of the table, in its project now. The table permits a
// session that has ended its reports, for those that it kept before. A session that said that it is done has no use for
// a wait, and asks no more.
func (v View) mayUse(id string) bool {
	row, _ := commands.CurrentRules().Row(id)
	if v.callerIsDone() && slices.Contains([]string{"input:wait", "report:needs-input"}, id) {
		return false
	}
	return v.Permit(id, v.Caller.By.Project) == nil && (!row.Write || !v.callerEnded())
}

// callerIsDone reports whether the caller is a session that said that its work is done.
func (v View) callerIsDone() bool {
	if v.Caller.By.Kind != commands.ActorSession {
		return false
	}
	x := v.Session(v.Caller.By.Name)
	return x != nil && x.Status == events.SessionSaidDone
}

// mayNameSessions reports whether the caller may do what a step's command lines do to the sessions that they name.
func (v View) mayNameSessions(step string) bool {
	for _, line := range commands.LinesIn(step) {
		if verb, session := commands.SessionOf(line); session != "" && !v.mayDoTo(verb, session) {
			return false
		}
	}
	return true
}

// mayDoTo reports whether the caller may do something to a session; "parent" is its spawner. The decisions themselves
// answer, on the present state.
func (v View) mayDoTo(verb, id string) bool {
	row, ok := commands.CurrentRules().Row("session:" + verb)
	switch {
	case verb == "heartbeat": // it becomes no event, and only the session itself sends it
		return v.Caller.By.Kind == commands.ActorSession && id == v.Caller.By.Name
	case verb == "exec":
		_, err := v.GetCredential(&wire.SessionID{ID: id})
		return err == nil
	case !ok || !row.Write:
		return true
	}
	if id == "parent" {
		return v.Caller.By.Kind == commands.ActorSession && v.accepts(row.ID, canTarget{})
	}
	return v.accepts(row.ID, canTarget{"session", id, []string{"sessionId"}})
}

// accepts reports whether a command of the caller about a target would be accepted. Its other fields are not known: if
// the decision only misses them, it has nothing against the rest.
func (v View) accepts(id string, target canTarget) bool {
	command, err := target.command(id)
	if err == nil {
		call := v.callOf(v.Caller.By, commands.ProjectOf(v.State, command, v.Caller.By))
		if err = commands.PermitCommand(v.State, commands.CurrentRules(), call, command); err == nil {
			_, err = command.Decide(v.State, call)
		}
	}
	var refusal *commands.Refusal
	return err == nil || errors.As(err, &refusal) && refusal.Code == commands.CodeInvalid
}

// permits returns whether a caller may use a row of the table in its project.
func (s *Service) permits(c *Caller) func(row string) bool {
	return func(row string) (may bool) {
		s.Handler.View(func(state *projections.State) { may = s.At(state, c).mayUse(row) })
		return may
	}
}

// mayRun reports whether a caller may use the command that the words of a command line name. Apart from the operator's
// commands, everybody may use a command that has no row in the table.
func mayRun(permits func(row string) bool, words []string) bool {
	for n := len(words); n > 0; n-- {
		id := strings.Join(words[:n], ":")
		if id == "manifest:show" { // advice means the session's own manifest, which every session may read
			return true
		}
		if row, ok := commands.CurrentRules().Row(id); ok {
			return !row.Planned && permits(id)
		}
	}
	return len(words) == 0 || !commands.IsForOperators(words[0])
}

// followable leaves out of inbox items the steps that their reader may not take. An item that leaves a session none is
// for another session to work on, or for the user to deal with.
func (s *Service) followable(c *Caller, items []projections.InboxItem) {
	if c.By.Kind == commands.ActorUser && c.By.Access == commands.AccessAdmin {
		return
	}
	known := map[string]bool{}
	may := func(step string) bool {
		names := false
		s.Handler.View(func(state *projections.State) { names = s.At(state, c).mayNameSessions(step) })
		if !names {
			return false
		}
		for _, line := range commands.LinesIn(step) {
			words := commands.WordsOf(line)
			command := strings.Join(words, " ")
			allowed, seen := known[command]
			if !seen {
				allowed = mayRun(s.permits(c), words)
				known[command] = allowed
			}
			if !allowed {
				return false
			}
		}
		return true
	}
	ask := commands.LineOf("report:needs-input")
	for i := range items {
		all := items[i].Next
		theirs := c.By.Kind == commands.ActorSession && items[i].Kind == projections.InboxBlocked &&
			s.blockedByUser(items[i].TaskID)
		steps := slices.DeleteFunc(slices.Clone(all), func(step string) bool {
			return !may(step) || theirs && strings.HasPrefix(step, "maestro task reopen ")
		})
		if len(steps) < len(all) && !slices.ContainsFunc(steps, changes) {
			if spawn := s.spawnNow(&items[i]); spawn != "" && may(spawn) {
				steps = append(steps, spawn)
			}
		}
		switch {
		case len(steps) > 0:
		case c.By.Kind != commands.ActorSession:
			steps = []string{s.whomToAsk(c)}
		case may(ask):
			steps = []string{ask}
		default:
			steps = []string{"ask the user, or whoever spawned this session"}
		}
		items[i].Next = steps
	}
}

// changes reports whether a step of the inbox does something, and does not only show what happened.
func changes(step string) bool {
	return !slices.ContainsFunc(commands.LinesIn(step), func(line string) bool {
		words := commands.WordsOf(line)
		return len(words) > 0 && (words[0] == "why" || words[0] == "audit")
	})
}

// blockedByUser reports whether the user blocked a task: a session asks before it lifts such a block.
func (s *Service) blockedByUser(task string) (blocked bool) {
	s.Handler.View(func(state *projections.State) {
		t := state.Task(task)
		blocked = t != nil && t.BlockedByUser()
	})
	return blocked
}

// spawnNow returns the command that gives an item's task to a new session; "" if there is no such task, if something
// that it depends on is open, or if a session at work waits to go on with it.
func (s *Service) spawnNow(item *projections.InboxItem) (spawn string) {
	s.Handler.View(func(state *projections.State) {
		x := state.Session(item.SessionID)
		if item.Kind == projections.InboxBlocked && x != nil && x.Active() {
			return
		}
		if t := state.Task(item.TaskID); t != nil && len(state.UnmetDependencies(t)) == 0 {
			spawn = state.SpawnFor(t)
		}
	})
	return spawn
}

// isOver reports whether the caller is a session that has ended, or that said that its work is done.
func (s *Service) isOver(c *Caller) (over bool) {
	s.Handler.View(func(state *projections.State) {
		v := s.At(state, c)
		over = v.callerEnded() || v.callerIsDone()
	})
	return over
}

func (s *Service) whomToAsk(c *Caller) string {
	switch {
	case c.By.Kind != commands.ActorSession:
		return "ask an admin: your token may not do it"
	case s.isOver(c):
		return commands.NextAfterEnd
	case s.Permit(c, "report:needs-input", c.By.Project) == nil:
		return "ask with `" + commands.LineOf("report:needs-input") + "`"
	}
	return "ask the user, or whoever spawned this session"
}

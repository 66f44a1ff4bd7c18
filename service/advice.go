package service

import (
	"slices"
	"strings"

	"maestro/commands"
	"maestro/internal/lazyregexp"
	"maestro/projections"
)

// named matches a command line that a text tells the reader to run, and captures its words.
var named = lazyregexp.New("`maestro ([a-z-]+)(?: ([a-z-]+))?(?: ([a-z-]+))?")

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
	}
}

// mayFollow reports whether a caller may use every command that a text tells it to run.
func mayFollow(permits func(row string) bool, text string) bool {
	for _, words := range named().FindAllStringSubmatch(text, -1) {
		if !mayRun(permits, words[1:]) {
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
	if !mayFollow(v.mayUse, step) {
		return false
	}
	return v.mayNameSessions(step)
}

// mayUse reports whether the caller may use a row of the table in its project now. The table permits a session that has
// ended its reports, for those that it kept before.
func (v View) mayUse(id string) bool {
	row, _ := commands.CurrentRules().Row(id)
	return v.Permit(id, v.Caller.By.Project) == nil && (!row.Write || !v.callerEnded())
}

// mayNameSessions reports whether the caller may do what a step's command lines do to the sessions that they name.
func (v View) mayNameSessions(step string) bool {
	for _, words := range sessionLines().FindAllStringSubmatch(step, -1) {
		if !v.mayDoTo(words[1], words[2]) {
			return false
		}
	}
	return true
}

// sessionLines matches a command line that names a session, and captures its verb and the session.
var sessionLines = lazyregexp.New("maestro session ([a-z]+) ([A-Za-z0-9][A-Za-z0-9_-]*)")

// mayDoTo reports whether the caller may do something to a session, as the commands decide. The user may do it to all.
func (v View) mayDoTo(verb, id string) bool {
	if verb == "message" {
		return v.mayWriteTo(id)
	}
	if v.Caller.By.Kind != commands.ActorSession {
		return true
	}
	own := v.Caller.By.Name
	to := v.Session(id)
	switch verb {
	case "complete", "register", "heartbeat": // what only the session itself does
		return id == own
	case "kill":
		return to != nil && (to.SpawnedBy == own || v.IsBelow(id, own))
	case "exec": // it needs the session's secret
		return to != nil && !to.Ended() && to.CreatedBy == v.Caller.By.Source()
	case "update", "link", "unlink":
		return to != nil && to.SpawnedBy == own
	}
	return true
}

// mayWriteTo reports whether a message of the caller to a session would be accepted; "parent" is its spawner.
func (v View) mayWriteTo(id string) bool {
	own := v.Session(v.Caller.By.Name)
	isSession := v.Caller.By.Kind == commands.ActorSession
	if isSession && own == nil {
		return false
	}
	if id == "parent" && isSession {
		id = own.SpawnedBy
	}
	to := v.Session(id)
	return to != nil && to.Active() && (!isSession || to.SpawnedBy == own.ID || own.SpawnedBy == to.ID)
}

// operatorCommands are the commands without a row in the table: they are for the operator of the server.
var operatorCommands = []string{"serve", "salvage", "restore", "backup"}

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
		id := strings.TrimRight(strings.Join(words[:n], ":"), ":")
		if id == "manifest:show" { // advice means the session's own manifest, which every session may read
			return true
		}
		if row, ok := commands.CurrentRules().Row(id); ok {
			return !row.Planned && permits(id)
		}
	}
	return !slices.Contains(operatorCommands, words[0])
}

// followable leaves out of inbox items the steps that their reader, a session, may not take. An item that leaves it
// none is for another session to work on, or for the user to deal with.
func (s *Service) followable(c *Caller, items []projections.InboxItem) {
	if c.By.Kind != commands.ActorSession {
		return
	}
	known := map[string]bool{}
	may := func(step string) bool {
		names := false
		s.Handler.View(func(state *projections.State) { names = s.At(state, c).mayNameSessions(step) })
		words := named().FindStringSubmatch("`" + step)
		if words == nil || !names {
			return names
		}
		allowed, seen := known[words[0]]
		if !seen {
			allowed = mayRun(s.permits(c), words[1:])
			known[words[0]] = allowed
		}
		return allowed
	}
	ask := `maestro report needs-input "<question>"`
	for i := range items {
		steps := slices.DeleteFunc(items[i].Steps(), func(step string) bool { return !may(step) })
		if len(steps) == 0 {
			spawn := "maestro session spawn --task-ids " + items[i].TaskID
			switch {
			case items[i].TaskID != "" && may(spawn) && s.waitsForNothing(items[i].TaskID):
				steps = []string{spawn}
			case may(ask):
				steps = []string{ask}
			default:
				steps = []string{"ask whoever spawned this session"}
			}
		}
		items[i].Next = strings.Join(steps, projections.NextOr)
	}
}

// waitsForNothing reports whether a task can be given to a session: nothing that it depends on is open.
func (s *Service) waitsForNothing(task string) (can bool) {
	s.Handler.View(func(state *projections.State) {
		t := state.Task(task)
		can = t != nil && len(state.UnmetDependencies(t)) == 0
	})
	return can
}

// hasEnded reports whether the caller is a session that has ended.
func (s *Service) hasEnded(c *Caller) (ended bool) {
	s.Handler.View(func(state *projections.State) { ended = s.At(state, c).callerEnded() })
	return ended
}

func (s *Service) whomToAsk(c *Caller) string {
	switch {
	case c.By.Kind != commands.ActorSession:
		return "ask an admin: your token may not do it"
	case s.hasEnded(c):
		return commands.NextAfterEnd
	case s.Permit(c, "report:needs-input", c.By.Project) == nil:
		return "ask with `maestro report needs-input \"<question>\"`"
	}
	return "ask whoever spawned this session"
}

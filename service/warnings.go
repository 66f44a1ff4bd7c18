package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// warningsOf returns what the caller of a command should know about its effects. The command has succeeded, so a caller
// that has used up its reads gets no warnings.
func (s *Service) warningsOf(ctx context.Context, c *Caller, command commands.Command, done engine.Answer) []string {
	var warnings []string
	see := func(see func(v View)) error {
		return s.work(ctx, c, func(v View) error {
			see(v)
			return nil
		})
	}
	if warner, ok := command.(commands.Warner); ok {
		err := see(func(v View) {
			for _, w := range warner.Warnings(v.State, done.Data) {
				if v.mayReadWarning(w) {
					warnings = append(warnings, w.Text)
				}
			}
		})
		if err != nil {
			return nil
		}
	}
	if said, ok := done.Data.(*events.SessionReported); ok && said.InputID != "" {
		err := see(func(v View) { warnings = append(warnings, asksAgain(v, said)...) })
		if err != nil {
			return nil
		}
	}
	session := completedBy(done.Data)
	if session == "" {
		return warnings
	}
	living, err := s.livingBelow(ctx, c, session)
	if err != nil {
		return nil
	}
	err = see(func(v View) { warnings = append(warnings, leavesBehind(v, session, living)...) })
	if err != nil {
		return nil
	}
	return warnings
}

// mayReadWarning reports whether the caller may read everything that a warning mentions.
func (v View) mayReadWarning(w commands.Warning) bool {
	for _, id := range w.Tasks {
		if _, err := v.PermitTask("task:get", id); err != nil {
			return false
		}
	}
	for _, id := range w.Sessions {
		if _, err := v.PermitSession("session:info", id); err != nil {
			return false
		}
	}
	return true
}

// asksAgain warns of a question that its session has asked already, and that nobody has answered yet.
func asksAgain(v View, said *events.SessionReported) []string {
	for x := range v.OpenQuestionsFrom(said.SessionID) {
		if x.ID != said.InputID && x.Question == said.Message && slices.Equal(x.Options, said.Options) {
			return []string{"you have asked this already, and question " + x.ID + " is still open: " +
				"`maestro input wait` waits for the answer"}
		}
	}
	return nil
}

// leavesBehind warns of what continues although a session says that its work is done: the item that it holds, its open
// questions, and working sessions below it.
func leavesBehind(v View, session string, living []string) (warnings []string) {
	if x := v.Session(session); x != nil {
		if item := v.Holds(x); item != nil {
			warnings = append(warnings, "it still holds task "+item.TaskID+" of queue "+item.Queue+
				", which returns to the queue unless you run `maestro queue complete`")
		}
	}
	if n := v.OpenQuestionsOf(session); n > 0 {
		asked := "a question of it is still open"
		if n > 1 {
			asked = fmt.Sprintf("%d questions of it are still open", n)
		}
		warnings = append(warnings, asked+", and an answer reaches nobody who has ended: "+
			"if you need it, run `maestro input wait`")
	}
	working := slices.DeleteFunc(living, func(id string) bool {
		x := v.Session(id)
		return x == nil || !x.Active()
	})
	if len(working) > 0 {
		named := working[:min(len(working), projections.WaitsNamed)]
		more := ""
		if rest := len(working) - len(named); rest > 0 {
			more = fmt.Sprintf(" and %d more", rest)
		}
		warnings = append(warnings, "sessions below it go on: "+strings.Join(named, ", ")+more)
	}
	return warnings
}

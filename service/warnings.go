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
	"maestro/service/wire"
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
	// Most commands are reports, and only a session that has lost its item is warned of one.
	_, report := command.(*commands.Report)
	if warner, ok := command.(commands.Warner); ok && (!report || c.NoLongerHolds) {
		err := see(func(v View) {
			for _, w := range warner.Warnings(v.State, done.Data) {
				if own := w.Except != "" && w.Except == c.By.Name; !own && v.mayReadWarning(w) {
					warnings = append(warnings, v.warning(w.Text, w.Next...))
				}
			}
		})
		if err != nil {
			return nil
		}
	}
	if spawned, ok := done.Data.(*events.SessionSpawned); ok && s.away(spawned.Runner) {
		err := see(func(v View) {
			warnings = append(warnings, v.warning(wire.RunnerAway(spawned.Runner)+", so nobody launches the agent",
				"see `maestro runner list` for those that did"))
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
	if said, ok := done.Data.(*events.SessionReported); ok && doneWith(said) {
		err := see(func(v View) {
			warnings = append(append(warnings, stillAsks(v, said)...), leavesBelow(v, said)...)
		})
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

// waitForIt is the next step of a session with an open question.
const waitForIt = "`maestro input wait` waits for the answer"

// doneWith reports whether a session says that tasks are done or failed, and goes on.
func doneWith(said *events.SessionReported) bool {
	ends := said.Kind == events.ReportComplete || said.Kind == events.ReportError
	return ends && len(said.TaskIDs) > 0 && !said.Late
}

// stillAsks warns a session that reports on tasks as done or failed of its open questions about them: the user is still
// asked to answer.
func stillAsks(v View, said *events.SessionReported) []string {
	done := make(map[string]bool, len(said.TaskIDs))
	for _, id := range said.TaskIDs {
		done[id] = true
	}
	about := func(x *projections.Input) bool {
		return len(x.TaskIDs) == 0 || slices.ContainsFunc(x.TaskIDs, func(id string) bool { return done[id] })
	}
	ids, more := openQuestions(v, said.SessionID, about)
	if len(ids) == 0 {
		return nil
	}
	return []string{v.warning(stillOpen("your", ids, more), waitForIt)}
}

// openQuestions names a few of a session's open questions that are wanted and need an answer, and counts the others.
func openQuestions(v View, session string, wanted func(*projections.Input) bool) (ids []string, more int) {
	for x := range v.OpenQuestionsFrom(session) {
		v.Worked(1)
		switch {
		case !wanted(x) || !v.NeedsAnswer(x):
		case len(ids) < projections.WaitsNamed:
			ids = append(ids, x.ID)
		default:
			more++
		}
	}
	return ids, more
}

func anyQuestion(*projections.Input) bool { return true }

// waitsForAnswer reports whether a session has an open question that needs an answer.
func (v View) waitsForAnswer(session string) bool {
	ids, _ := openQuestions(v, session, anyQuestion)
	return len(ids) > 0
}

// stillOpen says that questions are open.
func stillOpen(whose string, ids []string, more int) string {
	switch {
	case len(ids) == 1:
		return whose + " question " + ids[0] + " is still open"
	case more > 0:
		return fmt.Sprintf("%s questions %s and %d more are still open", whose, strings.Join(ids, ", "), more)
	}
	return whose + " questions " + strings.Join(ids, ", ") + " are still open"
}

// toItself returns a warning whose next step only this session can take.
func (v View) toItself(session, text, next string) string {
	if v.Caller.By.Name != session {
		return text
	}
	return v.warning(text, next)
}

// leavesBehind warns of what continues although a session says that its work is done: the item that it holds, its open
// questions, and working sessions below it.
func leavesBehind(v View, session string, living []string) (warnings []string) {
	if x := v.Session(session); x != nil {
		if item := v.Holds(x); item != nil {
			warning := "session " + session + " still holds task " + item.TaskID + " of queue " + item.Queue +
				", which returns to the queue when the session's lease is over"
			completes := "`maestro queue complete --task " + item.TaskID + "` completes it"
			warnings = append(warnings, v.toItself(session, warning, completes))
		}
	}
	if ids, more := openQuestions(v, session, anyQuestion); len(ids) > 0 {
		warnings = append(warnings, stillOpen("the session's", ids, more)+", and somebody still has to answer")
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
		warnings = append(warnings, "sessions below session "+session+" go on: "+strings.Join(named, ", ")+more)
	}
	return warnings
}

package api

import (
	"context"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

// within holds a command against the quotas of what there is: open questions, tasks, sessions. A retry of what was
// done is let through. So is a command that is not permitted: its refusal is decided and recorded, and a quota tells
// nothing about another's project.
func (s *server) within(ctx context.Context, request engine.Request) error {
	var over *overLimit
	s.Handler.View(func(state *projections.State) {
		project := request.Project(state)
		p := state.Project(project)
		if p == nil {
			return
		}
		over = s.stock(state, p, request)
		if over == nil {
			return
		}
		refused := commands.Permit(state, commands.CurrentRules(), request.By, request.Command.ID(), project)
		if refused != nil || request.Known(state) {
			over = nil
		}
	})
	if over == nil {
		return nil
	}
	if classOf(request.By) != ofAdmin {
		holdBack(ctx)
	}
	answer := s.tooMuch(request.By.String(), over)
	answer.Code, answer.Message = "QUOTA_EXCEEDED", "There are too many "+over.quota.About
	answer.Next = "nothing has happened: end what is no longer needed, or let the user raise the limit with " +
		"`serve --limit " + over.quota.Name + "=N`"
	return answer
}

// whenLess is when to try again what waits for others to end something.
const whenLess = time.Minute

// stock gives the quota of what there is that a command is over.
func (s *server) stock(state *projections.State, p *projections.Project, request engine.Request) *overLimit {
	over := func(name string, have int) *overLimit {
		if q := s.Limits.quota(name); q.Value > 0 && float64(have+1) > q.Value {
			return &overLimit{ofProject, q, whenLess}
		}
		return nil
	}
	switch c := request.Command.(type) {
	case *commands.CreateTask:
		return over("project-tasks", p.Tasks)
	case *commands.SpawnSession:
		return s.room(state, p)
	case *commands.RegisterSession:
		if state.Session(c.SessionID) == nil && request.By.Kind != commands.ActorSession {
			return s.room(state, p)
		}
	case *commands.Report:
		if !c.Asks() {
			return nil
		}
		all, own := 0, 0
		for x := range state.Unanswered(p.ID) {
			all++
			if request.By.Kind == commands.ActorSession && x.SessionID == request.By.Name {
				own++
			}
		}
		if over := over("session-questions", own); over != nil {
			return over
		}
		return over("project-questions", all)
	}
	return nil
}

// room gives the quota of sessions if a project has as many as it may. It counts only where there may be too many.
func (s *server) room(state *projections.State, p *projections.Project) *overLimit {
	q := s.Limits.quota("project-sessions")
	if q.Value == 0 || float64(p.Sessions) < q.Value {
		return nil
	}
	alive := 0
	for x := range state.Sessions(p.ID) {
		if !x.Ended() {
			alive++
		}
	}
	if float64(alive) < q.Value {
		return nil
	}
	return &overLimit{ofProject, q, whenLess}
}

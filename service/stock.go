package service

import (
	"context"
	"errors"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
)

// within checks a command against the quotas of existing objects (open questions, tasks, sessions, projects) and pays
// for what it creates; unused refunds that. It lets through a retry of what was done, and a command that is not
// permitted: its refusal is decided and recorded, and a quota reveals nothing about another's project.
func (s *Service) within(ctx context.Context, c *Caller, request engine.Request, dryRun bool) error {
	stock := s.Limits.stock(request)
	if stock == nil {
		return ctx.Err()
	}
	var over *overLimit
	var makes demand
	decided := false
	err := s.work(ctx, c, func(v View) error {
		over, makes = stock(v.State), madeBy(v.State, request.Command)
		decided = (over != nil || makes != demand{}) && unbounded(v.State, request)
		return nil
	})
	if err != nil {
		return err
	}
	if over == nil && !dryRun {
		over = c.admission.payFor(makes)
	}
	if over == nil || decided {
		return nil
	}
	answer := s.overFor(c, request.By, over)
	if ClassOf(request.By) != ClassAdmin {
		answer = s.heldBack(ctx, c, answer)
	}
	if over.quota.Burst != 0 {
		return answer
	}
	answer.Code, answer.Message = "QUOTA_EXCEEDED", "There are too many "+over.quota.About
	answer.Next = "nothing has happened: end what is no longer needed, or let the user raise the limit with " +
		"`serve --set-limit " + safetext.Quoted(over.quota.Name) + "=N`"
	return answer
}

// unbounded reports whether a request is decided whatever the quotas say, because it is refused or a retry.
func unbounded(state *projections.State, request engine.Request) bool {
	table, project := commands.CurrentRules(), request.Project(state)
	return commands.Permit(state, table, request.By, request.Command.ID(), project) != nil || request.Known(state)
}

// madeBy returns what a command creates that has a rate.
func madeBy(state *projections.State, command commands.Command) (d demand) {
	switch x := command.(type) {
	case *commands.SpawnSession, *commands.ResumeSession:
		d[useSpawns] = 1
	case *commands.RegisterSession:
		if state.Session(x.SessionID) == nil {
			d[useSpawns] = 1
		}
	case *commands.CreateProject:
		d[useCreates] = 1
	}
	return d
}

// payFor pays for what a command creates.
func (a *Admission) payFor(d demand) *overLimit {
	if d == (demand{}) {
		return nil
	}
	over := a.pay(d)
	if over == nil {
		a.made = d
	}
	return over
}

// unused refunds what within paid if nothing was created: the command was refused, is a retry, or changed nothing. Any
// other error is inconclusive: a caller that hangs up has paid, because the command may still succeed.
func (a *Admission) unused(answer engine.Answer, err error) {
	if a.made == (demand{}) {
		return
	}
	var refusal *commands.Refusal
	if err == nil && answer.Event != nil && !answer.Retried || err != nil && !errors.As(err, &refusal) {
		a.made = demand{}
		return
	}
	for r, n := range a.made {
		if n == 0 {
			continue
		}
		a.ledger.giveBack(a.credential, resource(r), n)
		if a.project != nil {
			a.ledger.giveBack(a.project, resource(r), n)
		}
	}
	a.made = demand{}
}

// whenLess is the wait before another try when others must end something first.
const whenLess = time.Minute

// stock returns a function that finds, in a state, the quota of existing objects that a command exceeds. It returns nil
// for a command that no quota counts and that creates nothing. A project's quotas count the objects of its root and all
// projects below, so creating projects makes no room.
func (l *Limits) stock(request engine.Request) func(*projections.State) *overLimit {
	switch c := request.Command.(type) {
	case *commands.CreateProject:
		return func(state *projections.State) *overLimit {
			if request.By.Kind != commands.ActorSession {
				return nil
			}
			return l.over("project-projects", len(state.RootUsage(state.Root(request.By.Project)).Projects))
		}
	case *commands.CreateWebhook:
		return func(state *projections.State) *overLimit {
			have := 0
			for range state.Webhooks() {
				have++
			}
			return l.over("server-webhooks", have)
		}
	case *commands.CreateTask:
		return inRoot(request, func(state *projections.State, root string) *overLimit {
			return l.over("project-tasks", tasks(state, root))
		})
	case *commands.SpawnSession:
		return inRoot(request, func(state *projections.State, root string) *overLimit {
			return l.over("project-sessions", state.LivingSessions(root))
		})
	case *commands.RegisterSession:
		return inRoot(request, func(state *projections.State, root string) *overLimit {
			if state.Session(c.SessionID) != nil || request.By.Kind == commands.ActorSession {
				return nil
			}
			return l.over("project-sessions", state.LivingSessions(root))
		})
	case *commands.ResumeSession:
		return inRoot(request, func(state *projections.State, root string) *overLimit {
			if x := state.Session(c.SessionID); x == nil || !x.Ended() { // it is counted
				return nil
			}
			return l.over("project-sessions", state.LivingSessions(root))
		})
	case *commands.Report:
		if c.Asks() {
			return inRoot(request, func(state *projections.State, root string) *overLimit {
				asker := ""
				if request.By.Kind == commands.ActorSession {
					asker = request.By.Name
				}
				return l.questions(state, root, asker)
			})
		}
	case *commands.FailPreflight:
		return inRoot(request, func(state *projections.State, root string) *overLimit {
			return l.questions(state, root, c.SessionID)
		})
	}
	return nil
}

// inRoot calls a function with the root of a request's project, if the project exists.
func inRoot(
	request engine.Request, over func(state *projections.State, root string) *overLimit,
) func(*projections.State) *overLimit {
	return func(state *projections.State) *overLimit {
		if p := state.Project(request.Project(state)); p != nil {
			return over(state, p.Root)
		}
		return nil
	}
}

// over returns a quota if one more object is too many.
func (l *Limits) over(name string, have int) *overLimit {
	if q := l.Quota(name); q.Value > 0 && float64(have+1) > q.Value {
		return &overLimit{classProject, q, whenLess}
	}
	return nil
}

// tasks counts the tasks of a root and of all projects below it.
func tasks(state *projections.State, root string) int {
	below := state.RootUsage(root).Tasks
	if p := state.Project(root); p != nil {
		return p.Tasks + below
	}
	return below
}

// questions returns the quota of open questions that one more of a session would exceed.
func (l *Limits) questions(state *projections.State, root, session string) *overLimit {
	if session != "" {
		if over := l.over("session-questions", state.OpenQuestionsOf(session)); over != nil {
			return over
		}
	}
	return l.over("project-questions", state.OpenQuestions(root))
}

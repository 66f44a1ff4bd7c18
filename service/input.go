package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// maySeeQuestion checks whether the caller may see a session's questions: a session its own, an orchestrator those of
// sessions that it spawned.
func (v View) maySeeQuestion(x *projections.Input) error {
	if v.Caller.By.Kind != commands.ActorSession {
		return v.Permit("input:list", x.ProjectID)
	}
	if x.SessionID == v.Caller.By.Name {
		return v.Permit("whoami", x.ProjectID)
	}
	if err := v.Permit("input:list", x.ProjectID); err != nil {
		var refusal *commands.Refusal
		if v.callerEnded() || !errors.As(err, &refusal) {
			return err
		}
		others := "of those of others: " + refusal.Why
		if d := refusal.Denied; d != nil && d.For != "" {
			others = "those of others are for: " + d.For
		}
		return &commands.Refusal{
			Code:    refusal.Code,
			Rule:    refusal.Rule,
			Message: "Session '" + v.Caller.By.Name + "' did not ask question '" + x.ID + "'",
			Why:     "a session sees its own questions; " + others,
			Next:    "name one of yours, or wait for all your mail with `maestro input wait`",
		}
	}
	if v.leads(x.SessionID) {
		return nil
	}
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    "input:list",
		Message: "Session '" + v.Caller.By.Name + "' did not spawn session '" + x.SessionID + "'",
		Why:     "an orchestrator sees the questions of sessions that it spawned",
		Next:    "leave it to the user",
	}
}

// leads reports whether the calling session spawned another, or succeeds the one that did.
func (v View) leads(session string) bool { return v.Leads(v.Caller.By.Name, v.SessionEver(session)) }

// ListInputs returns the questions that the caller may see, in the order in which they were asked. The returned
// function searches for them, and runs without the state.
func (v View) ListInputs(in *wire.InputFilter) (func() ([]projections.InputView, error), error) {
	row := "input:list"
	if v.Caller.By.Kind == commands.ActorSession && in.SessionID == v.Caller.By.Name {
		row = "whoami"
	}
	projects, err := v.PermitProjects(row, in.ProjectID)
	if err != nil {
		return nil, err
	}
	if err := v.namedSession(in.SessionID); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	return func() ([]projections.InputView, error) {
		views, err := v.findInputs(projects, in, asked)
		slices.SortStableFunc(views, func(a, b projections.InputView) int { return cmp.Compare(a.AskedAt, b.AskedAt) })
		return views, err
	}, nil
}

// findInputs finds questions in portions.
func (v View) findInputs(
	projects *seenProjects, in *wire.InputFilter, asked PageOf,
) (views []projections.InputView, err error) {
	views = []projections.InputView{}
	rest, err := projects.ranges(v, asked, func(v View, project string) []string {
		return v.InputIDsFrom(project, asked.From)
	})
	if err != nil {
		return nil, err
	}
	now := v.now().UnixMilli()
	err = v.listing(func(v View, until uint64) (done bool) {
		return eachOf(v, &rest, until, func(_, id string) (order int64, shown bool) {
			x := v.Input(id)
			if !strings.HasPrefix(id, in.IDPrefix) || in.SessionID != "" && in.SessionID != x.SessionID ||
				in.Status != "" && in.Status != v.shownStatus(x) || v.maySeeQuestion(x) != nil {
				return 0, false
			}
			views = append(views, v.InputView(x, now))
			return x.AskedAt, true
		})
	})
	return views, err
}

// shownStatus is the status by which questions are selected: an open one that needs no answer is not among the open.
func (v View) shownStatus(x *projections.Input) string {
	status := v.InputStatus(x)
	if status == projections.InputOpen && !v.NeedsAnswer(x) {
		return wire.InputNotNeeded
	}
	return string(status)
}

// GetInput returns a question.
func (v View) GetInput(in *wire.InputID) (projections.InputView, error) {
	if err := v.Permit("whoami", ""); err != nil {
		return projections.InputView{}, err
	}
	x := v.Input(in.ID)
	if err := v.Own("input:list", x != nil && x.SessionID == v.Caller.By.Name); err != nil {
		return projections.InputView{}, err
	}
	if x == nil {
		return projections.InputView{}, NotFound("Question", in.ID)
	}
	return v.InputView(x, v.now().UnixMilli()), v.maySeeQuestion(x)
}

// AwaitAnswer waits until a question is no longer open, or needs no answer any more. Its session has mail then.
func (s *Service) AwaitAnswer(ctx context.Context, c *Caller, in *wire.InputID) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	wait, err := ParseWait(in.Wait)
	if err != nil || wait == 0 {
		return err
	}
	if c.past != nil {
		return waitsInPast()
	}
	var session string
	s.Handler.View(func(state *projections.State) {
		if x := state.Input(in.ID); x != nil && s.At(state, c).maySeeQuestion(x) == nil {
			session = x.SessionID
		}
	})
	if session == "" {
		return nil
	}
	if err := s.beginWait(ctx, c); err != nil {
		return err
	}
	return s.Await(ctx, c, wait, func(state *projections.State) bool {
		x := state.Input(in.ID)
		return state.InputStatus(x) != projections.InputOpen || !state.NeedsAnswer(x)
	},
		engine.Key{Kind: projections.KindInput, ID: in.ID},
		engine.Key{Kind: projections.KindSession, ID: session},
		engine.MailOf(session))
}

// ParseWait parses how long a caller wants to wait.
func ParseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, InvalidRequest("", "wait must be a duration such as 25s, not '"+safetext.Printable(text)+"'")
	}
	return min(wait, waitLongest), nil
}

package service

import (
	"context"
	"slices"

	"maestro/commands"
	"maestro/projections"
)

// View is the committed state with who looks at it.
type View struct {
	*projections.State
	Service *Service
	Caller  *Caller
	// again looks at the state once more, when it may have moved. It panics with brokenOff if that fails.
	again func(see func(View))
	// live panics with brokenOff once the caller is gone.
	live func()
	// wait takes one of a few places, and gives the function that leaves it. It panics with brokenOff once the caller
	// is gone.
	wait func(places chan struct{}) (leave func())
}

// At gives a state as a caller sees it.
func (s *Service) At(state *projections.State, c *Caller) View {
	return View{
		State:   state,
		Service: s,
		Caller:  c,
		again:   s.again(context.Background(), c),
		live:    func() {},
		wait:    placeFor(context.Background()),
	}
}

// Permit answers whether the caller may use a row of the table in a project.
func (v View) Permit(row, project string) error {
	return commands.Permit(v.State, commands.CurrentRules(), v.Caller.By, row, project)
}

// Permit answers whether the caller may use a row of the table in a project, as things stand.
func (s *Service) Permit(c *Caller, row, project string) (err error) {
	s.Handler.View(func(state *projections.State) { err = s.At(state, c).Permit(row, project) })
	return err
}

// Own refuses a session that has ended what is not its own.
func (v View) Own(row string, own bool) error {
	if own || !v.callerEnded() {
		return nil
	}
	return AfterEnd(v.Caller.By, row)
}

func (v View) callerEnded() bool {
	if v.Caller.By.Kind != commands.ActorSession {
		return false
	}
	x := v.Session(v.Caller.By.Name)
	return x == nil || x.Ended()
}

// OwnTask reports whether a task is one of the calling session's: given to it, or an item that it took from a queue.
func (v View) OwnTask(id string) bool {
	x := v.Session(v.Caller.By.Name)
	return x != nil && (slices.Contains(x.TaskIDs, id) || v.HeldOnce(x.ID, id))
}

// AfterEnd refuses what a session may not read once it has ended.
func AfterEnd(by commands.Actor, row string) error {
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    row,
		Message: "Session '" + by.Name + "' has ended",
		Why:     "after its end a session reads itself, its own tasks, its own questions and its own mail, and nothing else",
		Next:    "stop; the user or the session that spawned this one decides what comes next",
	}
}

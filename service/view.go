package service

import (
	"context"
	"slices"

	"maestro/commands"
	"maestro/projections"
)

// View is the committed state as one caller sees it.
type View struct {
	*projections.State
	Service *Service
	Caller  *Caller
	// ctx lasts as long as the caller waits.
	ctx context.Context
	// past says that the state is the past one that the caller reads.
	past bool
	// around is called in place of each further read of the state, with that read; nil outside tests.
	around func(look func(see func(View)), see func(View))
}

// At returns a state as a caller sees it.
func (s *Service) At(state *projections.State, c *Caller) View {
	return View{
		State:   state,
		Service: s,
		Caller:  c,
		ctx:     context.Background(),
	}
}

// Permit checks whether the caller may use a row of the table in a project. A caller that reads a past state needs
// the permission at that moment and now.
func (v View) Permit(row, project string) error {
	if v.past {
		if err := v.permitPresent(row, project); err != nil || v.Caller.By.Kind == commands.ActorUser {
			return err // a token reads also what was before it was created
		}
	}
	return commands.Permit(v.State, commands.CurrentRules(), v.Caller.By, row, project)
}

// Permit checks whether the caller may use a row of the table in a project, in the present state.
func (s *Service) Permit(c *Caller, row, project string) (err error) {
	s.Handler.View(func(state *projections.State) { err = s.At(state, c).Permit(row, project) })
	return err
}

// Own refuses to a session that has ended what is not its own.
func (v View) Own(row string, own bool) error {
	if own || !v.callerEnded() {
		return nil
	}
	return v.AfterEnd(row)
}

func (v View) callerEnded() bool {
	if v.Caller.By.Kind != commands.ActorSession {
		return false
	}
	x := v.Session(v.Caller.By.Name)
	return x == nil || x.Ended() || v.past && v.Caller.Ended
}

// OwnTask reports whether a task is one of the calling session's: assigned to it, or an item that it took from a queue.
func (v View) OwnTask(id string) bool {
	x := v.Session(v.Caller.By.Name)
	return x != nil && (slices.Contains(x.TaskIDs, id) || v.HeldOnce(x.ID, id))
}

// AfterEnd refuses to the caller what a session may not read once it has ended, and says what ended it.
func (v View) AfterEnd(row string) error {
	message := "Session '" + v.Caller.By.Name + "' was deleted"
	x := v.Session(v.Caller.By.Name)
	if v.past { // it has ended since
		v.Service.Handler.View(func(present *projections.State) { x = present.Session(v.Caller.By.Name) })
	}
	if x != nil {
		message = commands.HasEnded(x)
	}
	return &commands.Refusal{
		Code:    commands.CodeNotAllowed,
		Rule:    row,
		Message: message,
		Why:     commands.WhyReadsAfterEnd,
		Next:    commands.NextAfterEnd,
	}
}

// AfterEnd is AfterEnd in the present state.
func (s *Service) AfterEnd(c *Caller, row string) (err error) {
	s.Handler.View(func(state *projections.State) { err = s.At(state, c).AfterEnd(row) })
	return err
}

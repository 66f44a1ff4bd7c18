package service

import (
	"context"

	"maestro/commands"
	"maestro/service/wire"
)

// Clock is the server's clock.
type Clock interface {
	// Status returns its status.
	Status() wire.ClockStatus
	// Confirm accepts the machine's wall clock as correct from now on, and reports whether it was in doubt. It fails
	// with *events.ClockError when events cannot have the time that it shows.
	Confirm() (now wire.ClockStatus, changed bool, err error)
}

// ClockStatus compares the server's clock with the machine's wall clock. Every caller may use it.
func (s *Service) ClockStatus() (wire.ClockStatus, error) {
	if s.Clock == nil {
		return wire.ClockStatus{}, NoPart("clock", "it was started without one")
	}
	return s.Clock.Status(), nil
}

// RowOfClock is the row of the permission table for confirming the clock.
const RowOfClock = "token:revoke"

// ConfirmClock is for the operator. It is not an event, because it is not about the project's work, and the times of
// later events show it. The server's log records it.
func (s *Service) ConfirmClock(ctx context.Context, c *Caller) (wire.ConfirmedClock, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return wire.ConfirmedClock{}, err
	}
	defer leave()
	err = s.Permit(c, RowOfClock, "")
	switch {
	case err != nil || c.By.Kind != commands.ActorUser:
		return wire.ConfirmedClock{}, &Problem{
			Kind:    KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "Confirming the clock is not allowed for " + c.By.String(),
			Why:     "it timestamps every later event",
			Next:    "use the admin token",
		}
	case s.Clock == nil:
		return wire.ConfirmedClock{}, NoPart("clock", "it was started without one")
	}
	status, changed, err := s.Clock.Confirm()
	if err != nil {
		return wire.ConfirmedClock{}, &Problem{
			Kind:    KindConflict,
			Code:    wire.CodeClock,
			Message: "The wall clock is not confirmed",
			Why:     err.Error(),
			Next:    "correct the machine's clock; until then events go on at the earlier pace",
		}
	}
	if changed {
		s.Logger.Warn("the wall clock was confirmed; events follow it again", "by", c.By.String(), "time", status.Time)
	}
	return wire.ConfirmedClock{ClockStatus: status, Changed: changed}, nil
}

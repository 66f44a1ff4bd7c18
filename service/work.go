package service

import (
	"context"
	"errors"

	"maestro/engine"
	"maestro/projections"
)

// work is Look for a command's work besides its decision: its steps are charged as commands.
func (s *Service) work(ctx context.Context, c *Caller, see func(v View) error) error {
	steps, err := s.portion(ctx, c, see)
	c.worked(steps)
	return err
}

// workOn is work in portions: between two of them others get their turn, and the state may change. on continues the
// work until the state has counted so many steps, and reports whether it is done.
func (s *Service) workOn(
	ctx context.Context, c *Caller, on func(v View, until uint64) (done bool, err error),
) error {
	steps, err := s.portions(ctx, c, on)
	c.worked(steps)
	return err
}

// portions is workOn, but leaves it to its caller to charge the steps.
func (s *Service) portions(
	ctx context.Context, c *Caller, on func(v View, until uint64) (done bool, err error),
) (steps int, err error) {
	for done := false; !done && err == nil; {
		var taken int
		taken, err = s.portion(ctx, c, func(v View) (err error) {
			done, err = on(v, stepsAtOnce)
			return err
		})
		steps += taken
	}
	return steps, err
}

func (s *Service) portion(ctx context.Context, c *Caller, see func(v View) error) (steps int, err error) {
	steps, err = s.Handler.Read(ctx, func(state *projections.State) error { return see(s.At(state, c)) })
	if errors.Is(err, engine.ErrReadTooLong) {
		err = tooMuchToRead()
	}
	return steps, err
}

// payWork charges a caller for work that is about to be done, unless the caller owes for earlier work.
func (s *Service) payWork(ctx context.Context, c *Caller, steps int) error {
	if c.admission == nil {
		return nil
	}
	for _, account := range c.admission.paying() {
		if over := s.ledger.owes(account, useCommands); over != nil {
			return s.over(ctx, c, over)
		}
	}
	c.worked(steps)
	return nil
}

package service

import (
	"context"
	"errors"

	"maestro/engine"
	"maestro/projections"
)

// StepsPerRead is how many steps of work count as one more read. What is below it comes with the read.
const StepsPerRead = 1000

// Look shows a caller the state, which see must not keep, and charges the caller for the steps that it takes. It ends
// once ctx does, and refuses what takes more steps than one read may.
func (s *Service) Look(ctx context.Context, c *Caller, see func(v View) error) error {
	steps, err := s.Handler.Read(ctx, func(state *projections.State) error { return see(s.At(state, c)) })
	c.looked(steps)
	if errors.Is(err, engine.ErrReadTooLong) {
		return tooMuchToRead()
	}
	return err
}

func tooMuchToRead() error {
	p := &Problem{
		Kind:    KindTooLarge,
		Code:    "READ_TOO_LARGE",
		Message: "This read takes more work than one read may",
		Why:     "while the server reads, all others wait",
		Next:    "ask for less: one project, a page (?limit=), or a part of the tree",
	}
	return p.Complete()
}

// looked charges the caller and its project for steps of reading, as for more reads. What was read is read: the next
// read waits until it is paid.
func (c *Caller) looked(steps int) {
	a := c.admission
	n := float64(steps / StepsPerRead)
	if a == nil || n == 0 {
		return
	}
	a.ledger.charge(a.credential, useReads, n)
	if a.project != nil {
		a.ledger.charge(a.project, useReads, n)
	}
}

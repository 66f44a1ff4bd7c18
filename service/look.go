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
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	if err := c.mayLook(); err != nil {
		return err
	}
	steps, err := s.Handler.Read(ctx, func(state *projections.State) error {
		v := s.At(state, c)
		v.again, v.wait = s.again(ctx, c), placeFor(ctx)
		v.live = func() {
			if err := ctx.Err(); err != nil {
				panic(brokenOff{err})
			}
		}
		return see(v)
	})
	c.looked(steps)
	if errors.Is(err, engine.ErrReadTooLong) {
		return tooMuchToRead()
	}
	return err
}

// again gives a function that looks at the state for a part of an answer, while that is written.
func (s *Service) again(ctx context.Context, c *Caller) func(see func(View)) {
	return func(see func(View)) {
		err := s.Look(ctx, c, func(v View) error {
			see(v)
			return nil
		})
		if err != nil {
			panic(brokenOff{err})
		}
	}
}

// placeFor gives a function that waits for one of a few places.
func placeFor(ctx context.Context) func(places chan struct{}) (leave func()) {
	return func(places chan struct{}) (leave func()) {
		select {
		case places <- struct{}{}:
			return func() { <-places }
		case <-ctx.Done():
			panic(brokenOff{ctx.Err()})
		}
	}
}

// brokenOff carries the reason for which an answer ends out of the middle of it.
type brokenOff struct{ why error }

// Unbroken calls make, which may make a part of an answer, and gives the reason if that cannot be made.
func Unbroken(make func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			it, ours := broken.(brokenOff)
			if !ours {
				panic(broken)
			}
			err = it.why
		}
	}()
	return make()
}

func tooMuchToRead() error {
	p := &Problem{
		Kind:    KindTooLarge,
		Code:    "READ_TOO_LARGE",
		Message: "This read takes more work than the server allows for one read",
		Why:     "other calls wait while the server reads",
		Next:    "ask for less: one project, a page (?limit=), or a part of the tree",
	}
	return p.Complete()
}

// looked charges the caller and its project for steps of reading, as for more reads. What was read is read: the next
// read waits until it is paid.
func (c *Caller) looked(steps int) {
	a := c.admission
	if a == nil {
		return
	}
	a.looked += steps
	n := float64(a.looked / StepsPerRead)
	a.looked %= StepsPerRead
	if n == 0 {
		return
	}
	a.ledger.charge(a.credential, useReads, n)
	if a.project != nil {
		a.ledger.charge(a.project, useReads, n)
	}
}

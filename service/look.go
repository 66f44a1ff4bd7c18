package service

import (
	"context"
	"errors"

	"maestro/engine"
	"maestro/projections"
)

// StepsPerRead is how many steps of work count as one more read. The first steps are included in the read.
const StepsPerRead = 1000

// Look shows a caller the state, which see must not retain, and charges the caller for its steps. It ends when ctx
// does, and refuses to take more steps than one read may.
func (s *Service) Look(ctx context.Context, c *Caller, see func(v View) error) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	if err := s.mayLook(c); err != nil {
		return err
	}
	read := s.Handler.Read
	if c.past != nil {
		read = c.past.Read
	}
	steps, err := read(ctx, func(state *projections.State) error {
		v := s.At(state, c)
		v.ctx, v.past = ctx, c.past != nil
		c.saw(v.Head().Sequence)
		return see(v)
	})
	c.chargeSteps(steps)
	if errors.Is(err, engine.ErrReadTooLong) {
		return tooMuchToRead()
	}
	return err
}

// later is a View without a state: it reads the state through again.
func (s *Service) later(ctx context.Context, c *Caller) View {
	return View{
		Service: s,
		Caller:  c,
		ctx:     ctx,
		past:    c.past != nil,
	}
}

// again reads the state once more for a part of an answer, while the answer is written; the state may have changed. It
// panics with brokenOff if that fails.
//
// A call that reads often waits for its turn.
func (v View) again(see func(View)) {
	if v.around != nil {
		v.around(v.lookAgain, see)
		return
	}
	v.lookAgain(see)
}

func (v View) lookAgain(see func(View)) {
	turn, err := v.Service.Turn(v.ctx, v.Caller)
	if err != nil {
		panic(brokenOff{err})
	}
	defer turn.End()
	err = v.Service.Look(v.ctx, v.Caller, func(v View) error {
		see(v)
		return nil
	})
	if err != nil {
		panic(brokenOff{err})
	}
}

// live panics with brokenOff once the caller is gone.
func (v View) live() {
	if err := v.ctx.Err(); err != nil {
		panic(brokenOff{err})
	}
}

// brokenOff carries the reason why an answer ends early.
type brokenOff struct{ why error }

// RecoverPart calls make, which may create a part of an answer, and returns the reason if it broke off.
func RecoverPart(make func() error) (err error) {
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

// chargeSteps charges the caller and its project for steps of reading, as for more reads. The work is done: the next
// read waits until it is paid.
func (c *Caller) chargeSteps(steps int) {
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
	a.reads += n
	paid := min(n, a.prepaid)
	a.prepaid -= paid
	if n -= paid; n > 0 {
		a.charge(useReads, n)
	}
}

package service

import (
	"context"
	"runtime"
	"time"
)

// turnsAtOnce is how many parts of long answers are created concurrently. It leaves the other processors to short
// calls.
func turnsAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// freeParts is how many parts of an answer a call creates without waiting for its turn, freeSteps how many steps each
// of them takes. However many calls begin at once, a commit waits for these parts only briefly.
const (
	freeParts = 4
	freeSteps = 500
)

// yieldMost is how long a part of an answer waits at most for the commands in progress: about as long as a command
// takes. The first part of a call waits for none: it is all that a short call has.
const yieldMost = 500 * time.Microsecond

// portionSteps returns how many steps the present part of an answer may take.
func (v View) portionSteps() uint64 {
	if v.Caller.turn || v.Caller.parts > freeParts {
		return stepsAtOnce
	}
	return freeSteps
}

// Turn is a call's turn to create one more part of a long answer.
type Turn struct {
	caller *Caller
	place  placeTaken
}

// Turn waits until it is the call's turn to create one more part of a long answer. The caller must end the turn, and
// must not wait for a client during it. The first parts of a call need no turn, nor does work within a turn. But all
// except the very first let the commands in progress go first. It fails with the cause of the context's end.
func (s *Service) Turn(ctx context.Context, c *Caller) (Turn, error) {
	c.parts++
	if c.turn || c.parts == 1 {
		return Turn{}, nil
	}
	s.Handler.Yield(ctx, yieldMost)
	if c.parts <= freeParts {
		return Turn{}, nil
	}
	place, err := s.turns.take(ctx, c)
	if err != nil {
		return Turn{}, err
	}
	c.turn = true
	return Turn{c, place}, nil
}

// End gives the next call its turn. A second End does nothing.
func (t *Turn) End() {
	if t.caller == nil {
		return
	}
	t.caller.turn = false
	t.place.leave()
	*t = Turn{}
}

package service

import (
	"context"
	"runtime"
)

// turnsAtOnce is how many parts of long answers are made at once. The other processors are left to short calls.
func turnsAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// freeParts is how many parts of an answer a call makes without waiting for its turn.
const freeParts = 4

// Turn is a call's turn to make one more part of a long answer.
type Turn struct {
	caller *Caller
	place  placeTaken
}

// Turn waits until it is the call's turn to make one more part of a long answer. Its end must be said; nobody waits for
// a client while it has a turn. The first parts of a call wait for no turn, and neither does what a call does within
// one. It fails with the cause of the context if that ends before.
func (s *Service) Turn(ctx context.Context, c *Caller) (Turn, error) {
	if c.parts++; c.turn || c.parts <= freeParts {
		return Turn{}, nil
	}
	place, err := s.turns.take(ctx, c)
	if err != nil {
		return Turn{}, err
	}
	c.turn = true
	return Turn{c, place}, nil
}

// End lets the next call have its turn. A second End does nothing.
func (t *Turn) End() {
	if t.caller == nil {
		return
	}
	t.caller.turn = false
	t.place.leave()
	*t = Turn{}
}

package supervisor

import (
	"context"
	"time"

	"maestro/service/wire"
)

// Place says what a run has of the places that its runner has for agents.
type Place string

// A run begins with a place. While it waits for the answer to a failed check, no agent runs, and others may: a person
// may take hours.
const (
	PlaceTaken Place = ""
	PlaceAsks  Place = "asks" // it waits for an answer
	PlaceLine  Place = "line" // it has its answer, and waits for the runner to give it a place again
)

// placeEvery is how often a run looks whether it has been given a place.
const placeEvery = 500 * time.Millisecond

// leavePlace leaves the place of the run to another one, and reports whether it did. A person in a terminal needs none.
func (s *supervisor) leavePlace() bool {
	if s.Runner == wire.TerminalRunner {
		return false
	}
	err := s.files.DropPlace()
	if err == nil {
		err = s.save(func(is *Saved) { is.Place = PlaceAsks })
	}
	if err != nil {
		s.logger.Warn("the run keeps its place while it waits for an answer", "why", err)
	}
	return err == nil
}

// takePlace waits until the runner has a place for the run again.
func (s *supervisor) takePlace(ctx context.Context) error {
	told := false
	for {
		if !told {
			err := s.save(func(is *Saved) { is.Place = PlaceLine })
			if told = err == nil; !told {
				s.logger.Warn("the runner does not see that the run needs a place", "why", err)
			}
		}
		if s.files.HasPlace() {
			if err := s.save(func(is *Saved) { is.Place = PlaceTaken }); err != nil {
				s.logger.Warn("the place of the run is not noted", "why", err) // the runner counts it all the same
			}
			return nil
		}
		select {
		case <-s.calls.after(placeEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

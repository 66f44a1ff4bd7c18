package supervisor

import (
	"context"
	"errors"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
)

// beat sends heartbeats until ctx ends, and notices that the session has ended, or that another run has its secret.
func (s *supervisor) beat(ctx context.Context) {
	wait := time.Duration(0)
	for {
		select {
		case <-s.calls.after(wait):
		case <-ctx.Done():
			return
		}
		var beat wire.Beat
		err := s.calls.until(ctx, func(ctx context.Context) (err error) {
			beat, err = s.calls.session.Heartbeat(ctx, s.SessionID)
			return err
		})
		s.judgeBeat(beat, err)
		wait = wire.BeatAfter(beat.Lease)
	}
}

// lookWithin is how long a look at the session may take.
const lookWithin = 10 * time.Second

// look is beat once, at once. It ends with ctx: then nobody follows the session any more.
func (s *supervisor) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	beat, err := s.calls.session.Heartbeat(ctx, s.SessionID)
	s.judgeBeat(beat, err)
}

func (s *supervisor) judgeBeat(beat wire.Beat, err error) {
	switch {
	case err == nil && beat.Ended:
		s.stop(whyEnded)
	case revoked(err):
		s.stop("the session's secret is not valid any more: another run of it may have begun")
	case errors.Is(err, errNewKey):
		s.stop("the server has a new key, and does not know the session's secret")
	case errors.Is(err, errHomeGone):
		s.stop("its home is gone")
	case client.ForGood(err):
		s.stop("the server does not take heartbeats: " + err.Error())
	}
}

// whyEnded is why most runs are ended early.
const whyEnded = "the session has ended"

// stop ends the run, for a reason.
func (s *supervisor) stop(why string) {
	s.overOnce.Do(func() {
		s.sessionEnded = why == whyEnded
		s.logger.Info("the run is ended", "why", why)
		s.Tell("The agent is being ended: %s.", why)
		s.why = why
		close(s.over)
	})
}

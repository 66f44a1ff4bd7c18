package service

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
)

// TestDelayedCallsAreBounded: the delayed calls of one caller, of the sessions of one root, of all callers without a
// valid credential and of everybody are bounded. Above a bound a call is not delayed, and each end makes room.
func TestDelayedCallsAreBounded(t *testing.T) {
	session := func(name, root string) *Caller {
		return &Caller{By: commands.Actor{Kind: commands.ActorSession, Name: name, Project: root}, Root: root}
	}
	for name, c := range map[string]struct {
		most int
		wait func(ctx context.Context, s *Service, i int) bool
	}{
		"one session": {delayedEach, func(ctx context.Context, s *Service, _ int) bool {
			return s.DelayRejection(ctx, session("s", "p"))
		}},
		"one user": {delayedEach, func(ctx context.Context, s *Service, _ int) bool {
			return s.DelayRejection(ctx, &Caller{By: commands.Actor{Kind: commands.ActorUser, Name: "u"}})
		}},
		"one address": {delayedEach, func(ctx context.Context, s *Service, _ int) bool {
			return s.delayNobody(ctx, loopback)
		}},
		"the sessions of one root": {delayedTogether, func(ctx context.Context, s *Service, i int) bool {
			return s.DelayRejection(ctx, session(fmt.Sprint("s", i), "p"))
		}},
		"all addresses": {delayedTogether, func(ctx context.Context, s *Service, i int) bool {
			return s.delayNobody(ctx, fmt.Sprint("192.0.2.", i))
		}},
		"everybody": {delayedAll, func(ctx context.Context, s *Service, i int) bool {
			return s.DelayRejection(ctx, session(fmt.Sprint("s", i), fmt.Sprint("p", i/4)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(Service)
				ctx, leave := context.WithCancel(t.Context())
				var delayed, refused atomic.Int64
				call := func(ctx context.Context, i int) {
					began := time.Now()
					if c.wait(ctx, s, i) {
						delayed.Add(1)
					} else if refused.Add(1); time.Since(began) > 0 {
						t.Error("a call without room waits")
					}
				}
				for i := range 2 * c.most {
					go call(ctx, i)
				}
				synctest.Wait()
				if int(refused.Load()) != c.most || delayed.Load() != 0 {
					t.Errorf("%d calls were refused at once, %d were delayed", refused.Load(), delayed.Load())
				}
				leave()
				synctest.Wait()
				if int(delayed.Load()) != c.most || len(s.delays.held) != 0 || s.delays.all != 0 {
					t.Errorf("%d calls were delayed, and %+v is left", delayed.Load(), s.delays.held)
				}
				if began := time.Now(); !c.wait(t.Context(), s, 0) || time.Since(began) < rejectionDelay {
					t.Error("the end of the others makes no room")
				}
			})
		})
	}
}

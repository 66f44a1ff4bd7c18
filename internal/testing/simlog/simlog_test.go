package simlog_test

import (
	"context"
	"sync/atomic"
	"testing"

	"maestro/engine"
	"maestro/events"
	"maestro/internal/testing/logtest"
	"maestro/internal/testing/simlog"
)

var (
	_ engine.Log       = (*simlog.Log)(nil)
	_ engine.Snapshots = (*simlog.Snapshots)(nil)
	_ engine.Witness   = (*simlog.Witness)(nil)
	_ engine.Blobs     = (*simlog.Blobs)(nil)
)

// TestConformance runs the conformance suite of engine.Log, as for every other log.
func TestConformance(t *testing.T) { logtest.Run(t, fixture) }

func fixture(*testing.T) logtest.Fixture {
	store := simlog.New()
	log := store.Open()
	var steps atomic.Int32
	return logtest.Fixture{
		Log:    log,
		Second: store.Open(),
		Stranger: func(_ context.Context, m events.Message) error {
			store.Insert(m)
			return nil
		},
		Crash: func(*testing.T) engine.Log {
			for _, op := range log.Kill() {
				store.Tear(op, 1)
			}
			store.Crash(1)
			return store.Open()
		},
		LoseAck: func(*testing.T) func() {
			log.Decide(func(op *simlog.Op) simlog.Outcome {
				if op.Kind == simlog.Append {
					return simlog.LostCached
				}
				return simlog.OK
			})
			return func() { log.Decide(nil) }
		},
		StepDown: func(*testing.T) {
			outcome := []simlog.Outcome{simlog.LostBefore, simlog.LostAfter, simlog.Late}[steps.Add(1)%3]
			var once atomic.Bool
			log.Decide(func(op *simlog.Op) simlog.Outcome {
				switch {
				case op.Kind == simlog.Append && !once.Swap(true):
					return outcome
				case op.Kind == simlog.Sync:
					store.Land(true)
				}
				return simlog.OK
			})
		},
		FillDisk: func(*testing.T) { store.SetFull(true) },
		MakeRoom: func(*testing.T) { store.SetFull(false) },
		Damage: func(_ *testing.T, harm logtest.Harm) (engine.Log, error) {
			log.Kill()
			firm, _ := store.Heads()
			switch harm {
			case logtest.FlipOldBit:
				store.Flip(firm/2, 12345)
			case logtest.FlipLastBit:
				store.Lose(firm)
			case logtest.CutTail:
				store.Cut(firm - 1)
			}
			return store.Open(), nil
		},
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"maestro/events"
	"maestro/projections"
)

// askedLog notes what was read of a log. A handler also checks the history meanwhile.
type askedLog struct {
	*fakeLog

	asks sync.Map
}

func (l *askedLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	l.asks.Store([2]uint64{from, to}, true)
	return l.fakeLog.Read(ctx, from, to, yield)
}

func (l *askedLog) asked(from, to uint64) bool {
	_, asked := l.asks.Load([2]uint64{from, to})
	return asked
}

// At 200 random moments, the past state is the fold of the log from its beginning up to that event, and the log is read
// from the nearest snapshot before it on.
func TestPastIsTheFold(t *testing.T) {
	const every, head = 100, 1000
	w := newWorld(t)
	report := benchReport(w)
	snapshots := &fakeSnapshots{}
	for w.log.head() < head {
		if err := report(fmt.Sprint(w.log.head())); err != nil {
			t.Fatal(err)
		}
		if w.log.head()%every == 0 {
			saver := open(t, Config{Log: w.log, Snapshots: snapshots, Now: w.now})
			if err := saver.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	log := &askedLog{fakeLog: w.log}
	w.h.Close()
	w.h = open(t, Config{Log: log, Snapshots: snapshots, Now: w.now})
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sequence := random.Uint64N(head + 1)
		past, _, err := w.h.Past(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		folded := projections.New()
		if err := fold(t.Context(), w.log, folded, sequence); err != nil {
			t.Fatal(err)
		}
		same := false
		past.View(func(s *projections.State) { same = encoded(t, s) == encoded(t, folded) })
		if !same || past.Sequence() != sequence || !past.At().Equal(folded.At()) {
			t.Fatalf("the state after event %d is not the fold up to it", sequence)
		}
		if nearest := sequence / every * every; sequence > nearest && !log.asked(nearest+1, sequence) {
			t.Fatalf("the state after event %d is not folded from the snapshot after event %d", sequence, nearest)
		}
	}
	var missing *NotCommittedError
	if _, _, err := w.h.Past(t.Context(), head+1); !errors.As(err, &missing) || missing.Head != head {
		t.Errorf("a state that does not exist yet: %v", err)
	}
}

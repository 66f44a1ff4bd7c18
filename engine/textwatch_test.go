package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/events"
)

// lossyTexts returns every text except a lost one, and records the requests.
type lossyTexts struct {
	mu    sync.Mutex
	lost  bool
	err   error
	asked []string
}

func (l *lossyTexts) Blob(_ context.Context, digest string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, digest)
	if l.lost && digest == l.asked[0] {
		return nil, events.ErrNoBlob
	}
	return nil, l.err
}

func (l *lossyTexts) set(lost bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.err = lost, err
}

// The watch reports each lost text once, asks again only for lost texts, and ends when none is lost.
func TestLostTextWatchEndsWhenNoneIsLost(t *testing.T) {
	w := newWorld(t)
	for _, title := range []string{"One", "Two"} {
		long := strings.Repeat(title, 30_000)
		w.must("admin", "task:create", w.fillIn(`{"project":"{p}","title":"Long","description":"`+long+`"}`))
	}
	texts := &lossyTexts{err: errors.New("the store does not answer")}
	tick, waiting := make(chan time.Time), make(chan struct{})
	var log bytes.Buffer
	watch := &TextWatch{
		Log:   w.log,
		Texts: texts,
		Head:  func() events.Head { return events.Head{Sequence: w.log.head()} },
		After: func(time.Duration) <-chan time.Time {
			waiting <- struct{}{}
			return tick
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watch.Run(t.Context())
	}()
	<-waiting
	if lost := watch.Lost(); len(lost) > 0 || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("for a store that does not answer, the watch reports %v, %s", lost, log.String())
	}
	for range 2 {
		texts.set(true, nil)
		tick <- time.Time{}
		<-waiting
	}
	if lost := watch.Lost(); len(lost) != 1 || strings.Count(log.String(), "are lost") != 1 {
		t.Errorf("for a lost text, the watch reports %v, %s", lost, log.String())
	}
	texts.set(false, nil)
	tick <- time.Time{}
	<-ended
	if lost := watch.Lost(); len(lost) > 0 {
		t.Errorf("lost for good: %v", lost)
	}
	if asked := len(slices.Compact(slices.Sorted(slices.Values(texts.asked)))); asked != 2 || len(texts.asked) != 5 {
		t.Errorf("the watch asked %d times for %d texts", len(texts.asked), asked)
	}
}

// A damaged log is reported elsewhere: the watch reports nothing, and does not check again.
func TestLostTextWatchEndsWithDamagedLog(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("Long", 30_000)
	w.must("admin", "task:create", w.fillIn(`{"project":"{p}","title":"T","description":"`+long+`"}`))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	watch := &TextWatch{
		Log:   w.log,
		Texts: &lossyTexts{err: fmt.Errorf("%w: damaged", events.ErrReadOnly)},
		Head:  func() events.Head { return events.Head{Sequence: w.log.head()} },
		After: func(time.Duration) <-chan time.Time {
			t.Error("the watch waits for another check")
			stop()
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	watch.Run(ctx)
	if log.Len() > 0 {
		t.Errorf("the watch reports %s", log.String())
	}
}

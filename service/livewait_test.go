package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Readers that wait are woken for what their filter selects, all of it: they get the same frames as one that looks at
// every frame.
func TestLiveReadersAreWokenForTheirFrames(t *testing.T) {
	w := newWorld(t)
	w.live()
	r := rand.New(rand.NewPCG(7, 8))
	story := newLiveStory(w)
	project := story.projects[0]
	story.task = w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	story.session = w.make(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+story.task+`"]}`)
	asker := w.caller(w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+story.task+`"]}`).Token)
	story.sessions = append(story.sessions, asker.By.Name)
	story.callers[asker.By.Name] = asker

	orchestrator := w.caller(w.do(w.admin(), "session:spawn",
		`{"project":"`+project+`","taskIds":["`+story.task+`"],"role":"orchestrator"}`).Token)

	filters := []WatchFilter{
		{},
		{Session: orchestrator.By.Name},
		{Project: project},
		{Session: story.session},
		{Session: asker.By.Name},
		{Task: story.task},
	}
	for _, kind := range []projections.Kind{
		projections.KindTask, projections.KindSession, projections.KindQueueItem, projections.KindInput,
		projections.KindTaskTimeline, projections.KindTemplate,
	} {
		for _, f := range filters[:6] {
			f.Kinds = []projections.Kind{kind}
			filters = append(filters, f)
		}
	}
	filters = append(filters, WatchFilter{Task: story.task, Session: asker.By.Name})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reading sync.WaitGroup
	waiting := make([]*liveClient, len(filters))
	var end atomic.Uint64
	end.Store(math.MaxUint64)
	for i, f := range filters {
		asked := liveAskedOf(Position{}, f)
		asked.After = wire.LiveAfterNow
		reader, err := w.Live(ctx, w.admin(), asked)
		if err != nil {
			t.Fatal(err)
		}
		waiting[i] = newLiveClient(t)
		reading.Go(func() {
			defer reader.Close()
			for waiting[i].at.Sequence < end.Load() && ctx.Err() == nil {
				slice, done := context.WithTimeout(ctx, 20*time.Millisecond)
				m, err := reader.Next(slice)
				if err == nil {
					waiting[i].take(m)
				}
				done()
			}
		})
	}
	begin := w.Head()
	for range 150 {
		story.step(r)
		if r.IntN(20) == 0 {
			w.do(orchestrator, "task:create", `{"project":"`+project+`","title":"T"}`)
		}
		if r.IntN(4) == 0 {
			w.waitUntilRead()
		}
	}
	end.Store(w.Head())
	reading.Wait()
	from, err := w.positionAt(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range filters {
		reader, err := w.Live(t.Context(), w.admin(), liveAskedOf(from, f))
		if err != nil {
			t.Fatal(err)
		}
		all := newLiveClient(t)
		all.follow(reader, end.Load())
		reader.Close()
		if !slices.Equal(waiting[i].seen, all.seen) {
			t.Errorf("%+v: the waiting reader got the frames %v, want %v", f, waiting[i].seen, all.seen)
		}
		if fmt.Sprint(waiting[i].views) != fmt.Sprint(all.views) {
			t.Errorf("%+v: the waiting reader has\n%v\nwant\n%v", f, waiting[i].views, all.views)
		}
	}
	w.Views.waits.mu.Lock()
	defer w.Views.waits.mu.Unlock()
	if n := len(w.Views.waits.byTopic); n > 0 {
		t.Errorf("waits of %d topics are kept for nobody", n)
	}
}

// waitUntilRead waits until every reader waits.
func (w *world) waitUntilRead() {
	w.Helper()
	for {
		w.Views.mu.RLock()
		w.Views.waits.mu.Lock()
		waiting := 0
		for _, waits := range w.Views.waits.byTopic {
			for _, wait := range waits {
				waiting += wait.readers
			}
		}
		all := waiting == w.Views.readers && w.Views.next == w.Head()+1
		w.Views.waits.mu.Unlock()
		w.Views.mu.RUnlock()
		if all {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// keepFrames forgets frames until some are left.
func (w *world) keepFrames(n uint64) {
	synctest.Wait()
	w.Views.mu.Lock()
	defer w.Views.mu.Unlock()
	for w.Views.next-w.Views.first > n {
		w.Views.drop()
	}
}

// A frame wakes only those whose filter may select it, and nobody is left behind: the position of the others is told
// once in a while, and they skip at once what does not concern them.
func TestLiveFrameWakesOnlyItsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.live()
		w.Views.rest = time.Second
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		create := func() string { return w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`) }
		task := create()
		synctest.Wait()
		reader, err := w.Live(t.Context(), w.admin(), &wire.LiveFilter{Kinds: "session", After: wire.LiveAfterNow})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		next := func() LiveMessage {
			m, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		next() // its position
		looked := reader.caller.admission.looked
		began := time.Now()
		go func() {
			for range 10 {
				time.Sleep(50 * time.Millisecond)
				create()
			}
			w.keepFrames(1)
		}()
		if m := next(); m.Kind != wire.LiveKindAt || m.Sequence != w.Head() || time.Since(began) != time.Second {
			t.Errorf("after %s it is told %s %s, want the head %d", time.Since(began), m.Kind, m.Position, w.Head())
		}
		if now := reader.caller.admission.looked; now != looked {
			t.Errorf("it looked at frames that cannot show it anything: %d steps", now-looked)
		}
		go func() {
			create()
			create()
			w.keepFrames(1)
			w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
		}()
		if m := next(); m.Kind != wire.LiveKindFrame || m.Sequence != w.Head() {
			t.Errorf("it is told %s %s, want the frame of a session", m.Kind, m.Position)
		}
		if n := w.Views.rereads.Load(); n > 0 {
			t.Error("frames that cannot show it anything were read from the log")
		}
	})
}

// An event that changed nothing is for those who follow its project or its session.
func TestLiveEventWithoutChanges(t *testing.T) {
	frame := &liveFrame{event: &events.Event{Project: "p"}, by: "s"}
	for _, c := range []struct {
		filter WatchFilter
		woken  bool
	}{
		{WatchFilter{}, true},
		{WatchFilter{Project: "p"}, true},
		{WatchFilter{Session: "s"}, true},
		{WatchFilter{Project: "p", Session: "s"}, true},
		{WatchFilter{Project: "other"}, false},
		{WatchFilter{Session: "other"}, false},
		{WatchFilter{Project: "other", Session: "s"}, false},
		{WatchFilter{Task: "t"}, false},
		{WatchFilter{Kinds: []projections.Kind{projections.KindTask}}, false},
	} {
		var waits liveWaits
		wait := waits.join(&c.filter)
		waits.add(frame, Position{Sequence: 4})
		if over, woken := waits.take(); (woken == 1) != c.woken || len(over) != woken {
			t.Errorf("%+v: %d are woken", c.filter, woken)
		}
		if c.woken && wait.before.Sequence != 4 {
			t.Errorf("%+v: woken after %s", c.filter, wait.before)
		}
	}
}

// A session that has ended watches no longer, also if nothing that happens may be shown to it.
func TestLiveEndsWithTheSession(t *testing.T) {
	for name, end := range map[string]string{"killed": "session:kill", "deleted": "session:delete"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.live()
				w.Views.rest = time.Second
				project := w.make(w.admin(), "project:create", `{"name":"P"}`)
				task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
				c := w.caller(w.do(w.admin(), "session:spawn",
					`{"project":"`+project+`","taskIds":["`+task+`"],"role":"orchestrator"}`).Token)
				reader, err := w.Live(t.Context(), c, &wire.LiveFilter{Kinds: "template", After: wire.LiveAfterNow})
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				began := time.Now()
				w.do(w.admin(), end, `{"sessionId":"`+c.By.Name+`"}`)
				slice, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				for err == nil {
					_, err = reader.Next(slice)
				}
				if took := time.Since(began); errors.Is(err, context.DeadlineExceeded) || took > 2*time.Second {
					t.Errorf("it ended after %s: %v", took, err)
				}
			})
		})
	}
}

// A session that only watches counts as heard, however its waiting is divided.
func TestLiveSessionIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		leases, err := engine.NewLeases(engine.LeasesConfig{
			Handler: w.Handler,
			Elapsed: func() time.Duration { return time.Since(began) },
			After:   time.After,
			Lease:   6 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Leases = leases
		w.live()
		w.Views.rest = time.Second
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		c := w.caller(w.do(w.admin(), "session:spawn",
			`{"project":"`+project+`","taskIds":["`+task+`"],"role":"orchestrator"}`).Token)
		reader, err := w.Live(t.Context(), c, &wire.LiveFilter{After: wire.LiveAfterNow})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for slices := range 20 {
			slice, end := context.WithTimeout(t.Context(), 2*time.Second)
			for err = nil; err == nil; {
				_, err = reader.Next(slice)
			}
			end()
			if ago, ok := leases.LastHeard(c.By.Name); slices > 1 && (!ok || ago > 4*time.Second) {
				t.Fatalf("it was heard %s ago (%t)", ago, ok)
			}
		}
	})
}

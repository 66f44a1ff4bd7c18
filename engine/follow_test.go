package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// follow starts to follow a world's log after a sequence.
func (w *world) follow(after uint64) *Follower {
	w.t.Helper()
	f, err := w.h.Follow(context.Background(), behind(after))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(f.Close)
	return f
}

// behind makes a follower begin after a sequence.
func behind(sequence uint64) func(*projections.State) (uint64, error) {
	return func(*projections.State) (uint64, error) { return sequence, nil }
}

func (w *world) headNow() (head uint64) {
	w.h.View(func(s *projections.State) { head = s.Head().Sequence })
	return head
}

// told returns a commit as text, with everything that a follower gets.
func told(sequence uint64, body events.Hash, e *events.Event, changes []projections.Change) string {
	text, err := json.Marshal(struct {
		Sequence uint64
		Body     string
		ID       string
		Data     events.Data
		Changes  []projections.Change
	}{sequence, body.String(), e.ID.String(), e.Data, changes})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// folded returns what followers must get from a log, computed by a separate fold.
func folded(t *testing.T, log *fakeLog) (all []string) {
	t.Helper()
	state := projections.New()
	err := log.Read(context.Background(), 1, log.head(), func(m events.Message) error {
		event, err := events.Decode(m.Body)
		if err != nil {
			return err
		}
		hash := events.BodyHash(m.Body)
		changes, err := state.Apply(m.Sequence, event, hash)
		all = append(all, told(m.Sequence, hash, event, changes))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readTo reads a follower up to a sequence.
func readTo(f *Follower, to uint64) (all []string, err error) {
	for f.next <= to {
		commits, err := f.Next(context.Background())
		if err != nil {
			return all, err
		}
		for _, c := range commits {
			all = append(all, told(c.Sequence, c.Body, c.Event, c.Changes))
		}
	}
	return all, nil
}

func sameFrames(t *testing.T, name string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: frame %d is\n%.400s\nwant\n%.400s", name, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d frames, want %d", name, len(got), len(want))
	}
}

// A follower gets every commit after its sequence, once and in order, with the changes of the fold, even where it
// changes from reading the log to following new commits.
func TestFollowersGetEveryCommitOnce(t *testing.T) {
	w := newWorld(t)
	report := benchReport(w)
	for i := range 300 { // commits without a follower
		if err := report(fmt.Sprint("before ", i)); err != nil {
			t.Fatal(err)
		}
	}
	begun := w.headNow()
	const writers, each = 4, 150
	end := begun + writers*each
	var writing, following sync.WaitGroup
	var written atomic.Int64
	for i := range writers {
		writing.Go(func() {
			for j := range each {
				if err := report(fmt.Sprint("w ", i, " ", j)); err != nil {
					t.Error(err)
				}
				written.Add(1)
			}
		})
	}
	type heard struct {
		name  string
		after uint64
		all   []string
	}
	results := make(chan heard, 100)
	begin := func(name string, after uint64) {
		following.Go(func() {
			f, err := w.h.Follow(context.Background(), behind(after))
			for errors.Is(err, ErrReplays) {
				f, err = w.h.Follow(context.Background(), behind(after))
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			all, err := readTo(f, end)
			if err != nil {
				t.Error(err)
			}
			results <- heard{name, after, all}
		})
	}
	for i := range 4 {
		begin(fmt.Sprint("from the beginning ", i), uint64(i))
	}
	for i := range 8 {
		for written.Load() < int64(i*writers*each/10) {
			if err := w.h.WaitFor(context.Background(), w.headNow()); err != nil {
				t.Fatal(err)
			}
		}
		head := w.headNow()
		begin(fmt.Sprint("from now ", i), head)
		begin(fmt.Sprint("from a little before ", i), head-min(head, 10))
		begin(fmt.Sprint("from the middle ", i), head/2)
	}
	writing.Wait()
	following.Wait()
	close(results)
	want := folded(t, w.log)
	n := 0
	for r := range results {
		n++
		sameFrames(t, r.name, r.all, want[r.after:])
	}
	if n != 28 {
		t.Errorf("%d followers", n)
	}
}

// What another server writes to the log reaches followers too, in its place.
func TestFollowersGetWhatOthersWrite(t *testing.T) {
	w := newWorld(t)
	f := w.follow(w.headNow())
	after := w.headNow()
	beside := open(t, Config{Log: w.log, Now: w.now, Shared: true})
	report := &commands.Report{Kind: events.ReportProgress, Message: "beside"}
	for i := range 3 {
		request := Request{By: w.actor("w"), Command: report, Key: fmt.Sprint("b", i)}
		if _, err := beside.Do(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
	w.must("w", "report:progress", `{"message":"ours"}`)
	all, err := readTo(f, w.log.head())
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, "beside", all, folded(t, w.log)[after:])
}

// A batch whose append fails is decided again: followers get what was committed in the end.
func TestFollowersGetNothingThatWasNotCommitted(t *testing.T) {
	w := newWorld(t)
	f := w.follow(w.headNow())
	after := w.headNow()
	failed := false
	w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
		if !failed {
			failed = true
			return events.ErrUnknown
		}
		return store()
	})
	w.must("w", "report:progress", `{"message":"again"}`)
	all, err := readTo(f, w.log.head())
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, "again", all, folded(t, w.log)[after:])
}

// A follower that does not read makes nobody wait, and holds no more memory than the feed's bounds allow: it is told to
// start again.
func TestSlowFollowerMustRestart(t *testing.T) {
	w := newWorld(t)
	slow := w.follow(w.headNow())
	report := benchReport(w)
	for i := range feedMost + 1 {
		if err := report(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := slow.Next(context.Background())
	var behind *BehindError
	if !errors.As(err, &behind) || behind.First != behind.Next+1 {
		t.Errorf("%v", err)
	}
	if kept := w.h.feed.next - w.h.feed.first; kept != feedMost {
		t.Errorf("%d commits are kept", kept)
	}
	if again := w.follow(w.headNow()); again.replay != nil {
		t.Error("a follower that starts at the end reads the log")
	}
}

// The feed is bounded in bytes too.
func TestFeedIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	slow := w.follow(w.headNow())
	long := strings.Repeat("x", 60<<10)
	for range feedBytes/(60<<10) + 10 {
		w.must("w", "report:progress", `{"message":"`+long+`"}`)
	}
	if w.h.feed.bytes > feedBytes {
		t.Errorf("%d bytes are kept", w.h.feed.bytes)
	}
	if _, err := slow.Next(context.Background()); !errors.As(err, new(*BehindError)) {
		t.Errorf("%v", err)
	}
}

// A follower that returns soon gets what it missed without reading the log; when nobody has followed for some time, the
// feed keeps nothing.
func TestFeedEndsAfterLastFollower(t *testing.T) {
	w := newWorld(t)
	first := w.follow(w.headNow())
	left := w.headNow()
	first.Close()
	first.Close()
	report := benchReport(w)
	if err := report("missed"); err != nil {
		t.Fatal(err)
	}
	back := w.follow(left)
	if back.replay != nil {
		t.Error("a follower that returns soon reads the log")
	}
	if all, err := readTo(back, left+1); err != nil || len(all) != 1 {
		t.Errorf("%d frames, %v", len(all), err)
	}
	back.Close()
	for i := range feedMost {
		if err := report(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if w.h.feed.on.Load() || w.h.feed.commits != nil || w.h.feed.followers != 0 {
		t.Errorf("%d commits are kept without a follower", len(w.h.feed.commits))
	}
	late := w.follow(left)
	all, err := readTo(late, w.headNow())
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, "late", all, folded(t, w.log)[left:])
}

// The cost of a write does not depend on the number of followers, and without followers the feed costs nothing.
func TestFollowersCostTheWriterNothing(t *testing.T) {
	w := newWorld(t)
	report := benchReport(w)
	i := 0
	cost := func() float64 {
		return testing.AllocsPerRun(200, func() {
			i++
			if err := report(fmt.Sprint("cost ", i)); err != nil {
				t.Fatal(err)
			}
		})
	}
	none := cost()
	w.follow(w.headNow())
	one := cost()
	for range 99 {
		w.follow(w.headNow())
	}
	hundred := cost()
	t.Logf("allocations of a write: %v with no follower, %v with one, %v with 100", none, one, hundred)
	// The state's tables grow now and then, which shows in an average over a few hundred writes.
	if hundred > one+3 || one > none+5 {
		t.Errorf("a write allocates %v times with no follower, %v with one, %v with 100", none, one, hundred)
	}
}

// countingLog counts the messages that are read, except by the check of the history before a snapshot.
type countingLog struct {
	*fakeLog

	snapshot uint64
	read     atomic.Int64
}

func (l *countingLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	return l.fakeLog.Read(ctx, from, to, func(m events.Message) error {
		if from != 1 || to != l.snapshot {
			l.read.Add(1)
		}
		return yield(m)
	})
}

// History is read from the nearest snapshot on, and only by a limited number of followers at a time.
func TestFollowersReadHistoryFromASnapshot(t *testing.T) {
	w := newWorld(t)
	report := benchReport(w)
	for i := range 500 {
		if err := report(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	snapshots := &fakeSnapshots{}
	saver := open(t, Config{Log: w.log, Snapshots: snapshots, Now: w.now})
	if err := saver.Snapshot(context.Background()); err != nil {
		t.Fatal(err)
	}
	saved := w.log.head()
	for i := range 100 {
		if err := report(fmt.Sprint("more ", i)); err != nil {
			t.Fatal(err)
		}
	}
	log := &countingLog{fakeLog: w.log, snapshot: saved}
	w.h.Close()
	w.h = open(t, Config{Log: log, Snapshots: snapshots, Now: w.now})
	log.read.Store(0)
	f := w.follow(saved + 50)
	all, err := readTo(f, w.headNow())
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, "history", all, folded(t, w.log)[saved+50:])
	if read := log.read.Load(); read > 110 {
		t.Errorf("%d messages were read to get 50, 50 after a snapshot", read)
	}
	if f.replay != nil || len(w.h.replays) != 0 {
		t.Error("the history is still in memory")
	}
	for range replaysMost {
		w.follow(1)
	}
	if _, err := w.h.Follow(context.Background(), behind(1)); !errors.Is(err, ErrReplays) {
		t.Errorf("%v", err)
	}
}

// A log that accepts no writes can be followed: its history is available.
func TestFollowAReadOnlyLog(t *testing.T) {
	w := newWorld(t)
	w.h.StopWrites(&events.StoppedError{Asked: true})
	f := w.follow(0)
	all, err := readTo(f, w.headNow())
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, "read-only", all, folded(t, w.log))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

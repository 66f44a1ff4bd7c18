package logtest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"maestro/events"
)

// syncedSurvivesACrash: what a reader saw after Sync is there after a crash, whoever wrote it.
func syncedSurvivesACrash(t *testing.T, f Fixture) {
	if !f.can(t, "Crash", f.Crash != nil) {
		return
	}
	mustAppend(t, f.Log, 0, batch("a", 1, 10))
	mustAppend(t, f.Log, 1, batch("b", 20, 10))
	if f.Stranger != nil {
		if err := f.Stranger(t.Context(), batch("stranger", 1, 10)[0]); err != nil {
			t.Fatal(err)
		}
	}
	if f.LoseAck != nil {
		head := mustSync(t, f.Log)
		found := f.LoseAck(t)
		_ = f.Log.Append(t.Context(), head, batch("unknown", 3, 10))
		found()
	}
	head := mustSync(t, f.Log)
	seen := read(t, f.Log, head)
	survived := f.Crash(t)
	if got := mustSync(t, survived); got < head {
		t.Fatalf("after the crash the head is %d, a reader had seen %d", got, head)
	}
	for i, m := range read(t, survived, head) {
		if m.Subject != seen[i].Subject || !bytes.Equal(m.Body, seen[i].Body) {
			t.Fatalf("sequence %d is %s after the crash, a reader had seen %s", m.Sequence, m.Body, seen[i].Body)
		}
	}
	mustAppend(t, survived, mustSync(t, survived), batch("next", 2, 10))
}

// crashWhileAppending: a crash during appends loses nothing that was acknowledged, and leaves at most a first part of
// the append in progress.
func crashWhileAppending(t *testing.T, f Fixture) {
	if !f.can(t, "Crash", f.Crash != nil) {
		return
	}
	acked := make(chan string, 1)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		head := uint64(0)
		for i := 0; ; i++ {
			name := fmt.Sprintf("ours-%d", i)
			messages := batch(name, 1+i%50, 300)
			if f.Log.Append(t.Context(), head, messages) != nil {
				return // the crash ended the log
			}
			head += uint64(len(messages))
			select {
			case acked <- name:
			case <-stop:
				return
			}
		}
	}()
	known := []string{}
	for range 40 {
		known = append(known, <-acked)
	}
	survived := f.Crash(t)
	close(stop)
	<-done
	head := mustSync(t, survived)
	begins := contents(t, survived, head, true)
	for _, name := range known {
		if begins[name] == 0 {
			t.Errorf("the batch %q was acknowledged before the crash, and is gone", name)
		}
	}
	mustAppend(t, survived, head, batch("next", 2, 10))
}

// fullDisk: what was acknowledged survives a full disk, and with room the log continues.
func fullDisk(t *testing.T, f Fixture) {
	if !f.can(t, "FillDisk", f.FillDisk != nil && f.MakeRoom != nil) {
		return
	}
	mustAppend(t, f.Log, 0, batch("before", 10, 100))
	f.FillDisk(t)
	acked := map[string]uint64{"before": 1}
	head := uint64(10)
	for i := 0; ; i++ {
		name := fmt.Sprintf("ours-%d", i)
		messages := batch(name, 1+i%4, 1000)
		err := f.Log.Append(t.Context(), head, messages)
		if err != nil {
			if !errors.Is(err, events.ErrUnknown) && !errors.Is(err, events.ErrFull) {
				t.Fatalf("append to a full disk: %v, expected ErrUnknown or ErrFull", err)
			}
			t.Logf("the disk was full after %d appends: %v", i, err)
			break
		}
		acked[name] = head + 1
		head += uint64(len(messages))
	}
	// What the log says without room must be true, or ErrFull.
	if got, err := f.Log.Sync(t.Context()); err == nil {
		expectAcked(t, acked, contents(t, f.Log, got, true))
	} else if !errors.Is(err, events.ErrFull) {
		t.Fatalf("sync on a full disk: %v, expected ErrFull or the head", err)
	}
	f.MakeRoom(t)
	got := mustSync(t, f.Log)
	if got < head {
		t.Fatalf("with room again the head is %d, %d was acknowledged", got, head)
	}
	expectAcked(t, acked, contents(t, f.Log, got, true))
	mustAppend(t, f.Log, got, batch("after", 5, 1000))
	expectAcked(t, acked, contents(t, f.Log, got+5, true))
}

// damage: damage to the files is never silent. Either the log does not open, or it says at which sequence it is
// damaged, or it ends before the head that its reader remembers.
func damage(t *testing.T, f Fixture, harm Harm) {
	if !f.can(t, "Damage", f.Damage != nil) {
		return
	}
	// Large enough for several blocks.
	const n = 30
	original := batch("a", n, 600<<10)
	for i := range original {
		mustAppend(t, f.Log, uint64(i), original[i:i+1])
	}
	log, err := f.Damage(t, harm)
	if err != nil {
		t.Logf("%s: the log does not open: %v", harm, err)
		return
	}
	// A reader that remembers head n reads up to it, whatever the log says.
	last := uint64(0)
	err = log.Read(t.Context(), 1, n, func(m events.Message) error {
		if m.Sequence != last+1 {
			t.Fatalf("%s: sequence %d follows %d", harm, m.Sequence, last)
		}
		last = m.Sequence
		if events.BodyHash(m.Body) != events.BodyHash(original[m.Sequence-1].Body) {
			// The chain shows it; the log does not have to.
			return &events.DamageError{Sequence: m.Sequence, Why: "the body is another"}
		}
		return nil
	})
	var found *events.DamageError
	if !errors.As(err, &found) || !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("%s: the log was read to %d with %v, expected damage", harm, last, err)
	}
	if found.Sequence != last+1 && found.Sequence != last {
		t.Errorf("%s: damage at %d, the last good message was %d", harm, found.Sequence, last)
	}
	t.Logf("%s: %v", harm, found)
}

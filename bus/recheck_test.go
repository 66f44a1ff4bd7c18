package bus

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"maestro/events"
)

// stepped is a clock whose timers all fire at once; it records the waits.
type stepped struct {
	at     time.Time
	waited []time.Duration
	stop   context.CancelFunc
	left   int // waits until stop
}

func (s *stepped) now() time.Time { return s.at }

func (s *stepped) after(d time.Duration) <-chan time.Time {
	s.at = s.at.Add(d)
	s.waited = append(s.waited, d)
	fired := make(chan time.Time, 1)
	if s.left--; s.left < 0 {
		s.stop()
		return fired
	}
	fired <- s.at
	return fired
}

// TestFinishedBlocksAreReadAgain: blocks are read again once a day, from where the last run stopped, and damage stops
// writes.
func TestFinishedBlocksAreReadAgain(t *testing.T) {
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	image := storeCopy(t, dir)
	b := openWitnessed(t, image, Always, uint64(len(log)))
	told := make(chan error, 2)
	b.OnDamage(func(err error) { told <- err })
	run := func(waits int) *stepped {
		ctx, cancel := context.WithCancel(t.Context())
		clock := &stepped{at: time.Unix(1_800_000_000, 0), stop: cancel, left: waits}
		b.KeepChecked(ctx, clock.now, clock.after)
		return clock
	}
	// The check leaves the start alone, then reads one block, and the run ends.
	run(1)
	if note := loadChecked(image); note.Stream != StreamName || note.Block != 1 || !note.Finished.IsZero() {
		t.Fatalf("after one block: %+v", note)
	}
	// What was read is not read again: damage to it is found the next day.
	flip(t, blockPath(image, 1), func(size int64) int64 { return size / 3 })
	run(3)
	if note := loadChecked(image); note.Finished.IsZero() || b.Damage() != nil {
		t.Fatalf("after all blocks: %+v, %v", note, b.Damage())
	}
	clock := run(2)
	if d := clock.waited[1]; d < 23*time.Hour || d > recheckEvery {
		t.Fatalf("the next run begins after %s", d)
	}
	run(8)
	if b.Damage() == nil {
		t.Fatal("the damage is not kept")
	}
	if err := <-told; !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("a flipped bit: %v", err)
	}
	if err := b.Append(t.Context(), uint64(len(log)), log[:1]); !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("an append: %v", err)
	}
}

// TestRecheckAfterAWrongClock: a last run that is dated in the future does not delay the next one.
func TestRecheckAfterAWrongClock(t *testing.T) {
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	image := storeCopy(t, dir)
	b := openWitnessed(t, image, Always, uint64(len(log)))
	at := time.Unix(1_800_000_000, 0)
	const years = 30 * 365 * 24 * time.Hour
	for ahead, again := range map[time.Duration]bool{years: true, 2 * time.Hour: true, time.Minute: false} {
		if err := saveChecked(image, checkedNote{Finished: at.Add(ahead)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		clock := &stepped{at: at, stop: cancel, left: 1}
		b.KeepChecked(ctx, clock.now, clock.after)
		if note := loadChecked(image); (note.Stream != "") != again {
			t.Errorf("finished %s ahead: after the first check %+v", ahead, note)
		}
	}
}

// TestDamagedBlobsWhileRunning: a blob in a damaged block stops writes, the server does not cut the block, and the next
// start keeps every other blob.
func TestDamagedBlobsWhileRunning(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Interval)
	contents := map[string][]byte{}
	var first string
	for i := range 14 {
		content := bytes.Repeat([]byte{byte('a' + i), 'x'}, 400_000)
		digest, err := b.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		if contents[digest] = content; i == 0 {
			first = digest
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openWitnessed(t, dir, Interval, 0)
	for digest, content := range contents {
		if got, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%s: %d bytes, %v", digest, len(got), err)
		}
	}
	block := filepath.Join(streamPath(dir, BlobStream), "msgs", "1.blk")
	flip(t, block, func(int64) int64 { return 1 }) // a length: the server would cut the block to nothing
	before, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Blob(t.Context(), first); !errors.Is(err, ErrBlobDamaged) || !errors.Is(b.Damage(),
		events.ErrReadOnly) {
		t.Fatalf("a damaged blob: %v, the bus: %v", err, b.Damage())
	}
	if after, err := os.ReadFile(block); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the block was changed: %d bytes became %d, %v", len(before), len(after), err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openWitnessed(t, dir, Interval, 0)
	if b.Damage() != nil {
		t.Fatal(b.Damage())
	}
	for digest, content := range contents {
		got, err := b.Blob(t.Context(), digest)
		if digest != first && (err != nil || !bytes.Equal(got, content)) {
			t.Errorf("%s: %d bytes, %v", digest, len(got), err)
		}
	}
	if _, err := b.PutBlob(t.Context(), contents[first]); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Blob(t.Context(), first); err != nil || !bytes.Equal(got, contents[first]) {
		t.Fatalf("the lost blob, stored again: %d bytes, %v", len(got), err)
	}
}

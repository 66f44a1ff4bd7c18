package projections

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"maestro/events"
)

// Slices count what a look at every event counts, for all and for some projects, over several chunks.
func TestSlices(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const n = 2*SegmentEvents + 77
	type entry struct {
		project uint32
		mark    Mark
	}
	var tape Tape
	var all []entry
	for i := range n {
		e := entry{rnd.Uint32N(4), Mark(rnd.IntN(int(marks)))}
		all = append(all, e)
		tape = tape.with(int64(i/3), e.project, e.mark)
	}
	for range 200 {
		first, last := 1+rnd.Uint64N(n), 1+rnd.Uint64N(n)
		counts := []bool{rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0}
		most := 1 + rnd.IntN(300)
		slices := tape.Slices(first, last, most, counts)
		if first > last {
			if slices != nil {
				t.Fatalf("%d to %d has slices", first, last)
			}
			continue
		}
		if want := min(uint64(most), last-first+1); uint64(len(slices)) != want {
			t.Fatalf("%d to %d in %d: %d slices, want %d", first, last, most, len(slices), want)
		}
		next := first
		for _, x := range slices {
			if x.First != next || x.Last < x.First {
				t.Fatalf("a slice from %d to %d, want one from %d", x.First, x.Last, next)
			}
			next = x.Last + 1
			var want Slice
			for _, e := range all[x.First-1 : x.Last] {
				if int(e.project) < len(counts) && counts[e.project] {
					want.Count++
					want.Marks[e.mark]++
				}
			}
			if x.Count != want.Count || x.Marks != want.Marks {
				t.Fatalf("slice %d to %d: %d %v, want %d %v", x.First, x.Last, x.Count, x.Marks, want.Count, want.Marks)
			}
		}
		if next != last+1 {
			t.Fatalf("the slices end at %d, want %d", next-1, last)
		}
	}
	for _, at := range []time.Duration{-1, 0, 1, 50, n/3 - 1, n} {
		for _, more := range []time.Duration{-1, 0, 1} {
			moment := time.Unix(0, 0).Add(at*time.Millisecond + more)
			before, until := tape.Before(moment), tape.Until(moment)
			for sequence := range uint64(n) {
				then := time.UnixMilli(tape.At(sequence + 1))
				if then.Before(moment) != (sequence < before) || then.After(moment) != (sequence >= until) {
					t.Fatalf("event %d at %s: %d is the last before %s, and %d up to it",
						sequence+1, then, before, moment, until)
				}
			}
		}
	}
}

// The tape of a folded log has the time, the project and the mark of each event, and a snapshot keeps it.
func TestTapeIsTheLog(t *testing.T) {
	s := New()
	var log []*events.Event
	stored, err := os.ReadFile(goldenLog)
	if err != nil {
		t.Fatal(err)
	}
	for body := range bytes.Lines(stored) {
		body = bytes.TrimSuffix(body, []byte("\n"))
		event, err := events.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(s.Head().Sequence+1, event, events.BodyHash(body)); err != nil {
			t.Fatal(err)
		}
		log = append(log, event)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Mark]bool{}
	for i, e := range log {
		counts := make([]bool, len(s.projectIDs)+1)
		counts[s.number(e.Project)] = true
		sequence := uint64(i + 1)
		for _, tape := range []Tape{s.Tape(), again.Tape()} {
			x := tape.Slices(sequence, sequence, 1, counts)[0]
			if mark := MarkOf(e.Data); x.Count != 1 || x.Marks[mark] != 1 {
				t.Errorf("event %d (%s): %+v, want mark %q", sequence, e.Data.EventType(), x, mark)
			} else {
				seen[mark] = true
			}
			if at := time.UnixMilli(tape.At(sequence)); !at.Equal(e.Time.Truncate(time.Millisecond)) {
				t.Errorf("event %d: at %s, want %s", sequence, at, e.Time)
			}
		}
	}
	for mark := range marks {
		if !seen[mark] {
			t.Errorf("no event of the golden log has the mark %q", mark)
		}
	}
}

// BenchmarkSlices counts a million events in a thousand slices, and prints how much longer that takes than to read them
// all once.
func BenchmarkSlices(b *testing.B) {
	const n = 1_000_000
	rnd := rand.New(rand.NewPCG(1, 2))
	var tape Tape
	for i := range n {
		tape = tape.with(int64(i), rnd.Uint32N(10), Mark(rnd.IntN(int(marks))))
	}
	counts := make([]bool, 10)
	for i := range counts {
		counts[i] = i%3 != 0
	}
	sum := uint32(0)
	began := time.Now()
	for range 10 {
		for _, chunk := range tape.chunks {
			for _, what := range chunk.what {
				sum += what
			}
		}
	}
	once := time.Since(began) / 10
	for b.Loop() {
		tape.Slices(1, n, 1000, counts)
	}
	if sum == 0 {
		b.Fatal("nothing was read")
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(once), "x-one-read")
}

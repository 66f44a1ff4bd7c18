package service

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A reader that is cut off 200 times at random, over restarts of the server and one restore of an older log, gets every
// frame once, or a new snapshot of another log. After each cut it has the views as the log gives them at its position.
func TestLiveAcrossRestartsAndARestore(t *testing.T) {
	const cuts, restored = 200, 120
	w := newWorld(t)
	w.live()
	r := rand.New(rand.NewPCG(5, 6))
	story := newLiveStory(w)
	for range 40 {
		story.step(r)
	}
	client := newLiveClient(t)
	for cut := range cuts {
		if cut == restored || r.IntN(12) == 0 {
			log := w.log
			if cut == restored { // the newest events were never in the backup, and others take their places
				log = &memoryLog{messages: slices.Clone(w.log.messages[:client.at.Sequence-5])}
				client.seen, client.events = nil, map[uint64]string{}
			}
			w = worldOn(t, log)
			w.live()
			story.w = w
			story.n += 1000 // keys of its own
			for w.Head() < client.at.Sequence+5 {
				story.step(r)
			}
		}
		for range r.IntN(6) {
			story.step(r)
		}
		reader, err := w.Live(t.Context(), w.admin(), liveAskedOf(client.at, WatchFilter{}))
		if err != nil {
			t.Fatal(err)
		}
		if reader.snapshot {
			client.snapshots++
			clear(client.views)
		}
		for range r.IntN(3) {
			story.step(r)
		}
		to := w.Head()
		if !reader.snapshot {
			to -= uint64(r.IntN(int(to - min(to, client.at.Sequence) + 1)))
		}
		client.follow(reader, to)
		reader.Close()
		client.has(w.viewsAt(client.at.Sequence, WatchFilter{}), fmt.Sprintf("cut %d at %s", cut, client.at))
		for sequence, event := range client.events {
			if stored := w.log.messages[sequence-1].Body; event != string(stored) {
				t.Fatalf("cut %d: frame %d has the event %s, want %s", cut, sequence, event, stored)
			}
		}
	}
	if client.snapshots != 2 {
		t.Errorf("%d snapshots, want one at the beginning and one after the restore", client.snapshots)
	}
	for i := 1; i < len(client.seen); i++ {
		if client.seen[i] != client.seen[i-1]+1 {
			t.Errorf("frame %d came after frame %d", client.seen[i], client.seen[i-1])
		}
	}
}

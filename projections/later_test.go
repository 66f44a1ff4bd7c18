package projections

import (
	"errors"
	"sync"
	"testing"

	"maestro/events"
)

// past decodes a state without its segments, which it shares with a later one.
func past(t testing.TB, s *State, later Later) *State {
	t.Helper()
	b, err := s.Image().EncodeLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read, err := DecodeBefore(b, later)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// A state that shares what only grows with a later one is the same as one that has all of its own, and goes on in the
// same way; the later one does not notice.
func TestPastSharesWithLater(t *testing.T) {
	stories := map[string][]given{"golden": goldenStory()}
	for seed := range uint64(8) {
		stories[string(rune('a'+seed))] = randomStory(t, seed, 120) //nolint:gosec // a small number
	}
	unowned := 0
	for name, story := range stories {
		whole := stateOf(t, story...)
		unowned += len(whole.unowned)
		before := encode(t, whole)
		later := func(see func(*State)) { see(whole) }
		for cut := 0; cut <= len(story); cut += 1 + len(story)/9 {
			half := stateOf(t, story[:cut]...)
			read := past(t, half, later)
			if cut == 0 {
				read = Before(later)
			}
			if encode(t, read) != encode(t, half) || show(t, read) != show(t, half) {
				t.Fatalf("%s: the state of %d events shows %s", name, cut,
					firstDifference(show(t, read), show(t, half)))
			}
			for at := cut; ; at++ {
				for sequence := range whole.ids.n {
					found, ok := read.Accepted(*whole.ids.at(sequence + 1))
					if in := sequence < uint64(at); ok != in || in && found != sequence+1 { //nolint:gosec // a length
						t.Fatalf("%s: after %d events, the id of event %d is found at %d", name, at, sequence+1, found)
					}
				}
				if at == min(cut+40, len(story)) {
					half = stateOf(t, story[:at]...)
					break
				}
				apply(t, read, story[at])
			}
			if encode(t, read) != encode(t, half) || show(t, read) != show(t, half) {
				t.Fatalf("%s: from the state of %d events, the fold gives %s", name, cut,
					firstDifference(show(t, read), show(t, half)))
			}
		}
		if encode(t, whole) != before {
			t.Fatalf("%s: the later state changed", name)
		}
	}
	if unowned == 0 {
		t.Error("no story has a timeline that began before its task or session")
	}
}

// A past state goes on as far as the later one has come meanwhile, and refuses what that one does not have.
func TestPastEndsWithLater(t *testing.T) {
	story := goldenStory()
	present := stateOf(t, story[:10]...)
	later := func(see func(*State)) { see(present) }
	read := past(t, stateOf(t, story[:5]...), later)
	for _, g := range story[5:10] {
		apply(t, read, g)
	}
	e, body := stored(t, story[10].event(read))
	if _, err := read.Apply(11, e, events.BodyHash(body)); err == nil {
		t.Error("an event is applied that the later state does not have")
	}
	apply(t, present, story[10])
	other := *e
	other.ID[0]++
	var damage *events.DamageError
	if _, err := read.Apply(11, &other, events.BodyHash(body)); !errors.As(err, &damage) || damage.Sequence != 11 {
		t.Errorf("another event than the later state has: %v", err)
	}
	apply(t, read, story[10])
	if encode(t, read) != encode(t, present) {
		t.Error("the state that went on is another")
	}
	short, err := present.Image().EncodeLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeBefore(short, func(see func(*State)) { see(read.shortened(3)) }); err == nil {
		t.Error("a state is decoded that is later than the later one")
	}
	for name, b := range map[string]string{"nothing": "", "a list": "[]\n", "cut words": string(short[:len(short)-1])} {
		if _, err := DecodeBefore([]byte(b), later); err == nil {
			t.Errorf("%s is decoded", name)
		}
	}
}

// shortened returns a state with so many ids.
func (s *State) shortened(n uint64) *State {
	short := New()
	short.ids = s.ids
	short.ids.n = n
	return short
}

// Past states are made while the later one goes on.
func TestPastWhileLaterGoesOn(t *testing.T) {
	story := randomStory(t, 5, 400)
	present := stateOf(t, story[:100]...)
	var mu sync.RWMutex
	later := func(see func(*State)) {
		mu.RLock()
		defer mu.RUnlock()
		see(present)
	}
	half := stateOf(t, story[:50]...)
	want := encode(t, stateOf(t, story[:100]...))
	var group sync.WaitGroup
	group.Go(func() {
		overlay := present.Overlay()
		for _, g := range story[100:] {
			apply(t, overlay, g)
			mu.Lock()
			overlay.Commit()
			mu.Unlock()
		}
	})
	for range 2 {
		group.Go(func() {
			for range 20 {
				read := past(t, half, later)
				for _, g := range story[50:100] {
					apply(t, read, g)
				}
				if encode(t, read) != want {
					t.Error("a past state is another while the present one changes")
				}
			}
		})
	}
	group.Wait()
}

// A past state that follows the log beyond what it shares copies a long timeline once in a while, not for each entry,
// and never writes where the later state reads.
func TestTimelineBeyondLater(t *testing.T) {
	later := make(Timeline, 1000, 3000)
	for i := range later {
		later[i] = Place(i + 1)
	}
	past := &State{later: func(func(*State)) {}}
	shared := later[:500:len(later)]
	arrays := map[*Place]bool{}
	for i := 500; i < 20_000; i++ {
		shared = past.extended(shared, Place(i+1))
		arrays[&shared[0]] = true
	}
	if len(arrays) > 20 {
		t.Errorf("the timeline was copied %d times", len(arrays)-1)
	}
	for i, place := range shared {
		if place != Place(i+1) {
			t.Fatalf("place %d is %d", i, place)
		}
	}
	for i, place := range later[:cap(later)] {
		if want := Place(i + 1); i < len(later) && place != want || i >= len(later) && place != 0 {
			t.Fatalf("place %d of the later state is %d", i, place)
		}
	}
	if other := past.extended(later[:10:20], 5000); other[10] != 5000 || later[10] != 11 {
		t.Error("a place that the later state does not have was written into its timeline")
	}
}

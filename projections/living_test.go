package projections

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"maestro/events"
)

// openThings are the lists that a state keeps of what is alive or open.
type openThings struct {
	Living, Deadlines, Employed []string

	Unanswered map[string][]string   // by project
	Asking     map[string]int        // by session
	Standing   map[string]openCounts // by root
	OpenOf     map[string][]string   // by task
	Below      map[string][]string   // by session
	Tally      Tally
}

func newOpenThings() openThings {
	return openThings{
		Unanswered: map[string][]string{},
		Asking:     map[string]int{},
		Standing:   map[string]openCounts{},
		OpenOf:     map[string][]string{},
		Below:      map[string][]string{},
	}
}

// livingBelow returns the sessions below one that have not ended.
func livingBelow(s *State, id string) []string {
	d := s.DescentFrom(id)
	s.FindDescendants(d, math.MaxUint64)
	return d.Living
}

// openKept returns the open things from the state's lists.
func openKept(s *State) openThings {
	kept := newOpenThings()
	sessionID := func(x *Session) string { return x.ID }
	kept.Living, kept.Deadlines = idsOf(s.Living(), sessionID), idsOf(s.Deadlines(), sessionID)
	kept.Employed = idsOf(s.Employed(), sessionID)
	for _, p := range s.projectIDs {
		if ids := idsOf(unanswered(s, p), func(x *Input) string { return x.ID }); len(ids) > 0 {
			kept.Unanswered[p] = ids
		}
		if n := (openCounts{s.LivingSessions(p), s.OpenQuestions(p)}); n != (openCounts{}) {
			kept.Standing[p] = n
		}
		for _, id := range s.sessionIDs.get(p) {
			if n := s.OpenQuestionsOf(id); n > 0 {
				kept.Asking[id] = n
			}
			if below := livingBelow(s, id); len(below) > 0 {
				kept.Below[id] = below
			}
		}
		for _, id := range s.taskIDs.get(p) {
			if keys := s.openOf.get(id); len(keys) > 0 {
				kept.OpenOf[id] = keys
			}
		}
	}
	kept.Tally = s.Tally()
	return kept
}

// openFound finds the same things by walking through everything that ever existed.
func openFound(s *State) openThings {
	found := newOpenThings()
	var sessions []*Session
	for _, p := range s.projectIDs {
		for _, id := range s.sessionIDs.get(p) {
			sessions = append(sessions, s.SessionEver(id))
		}
		for x := range s.Inputs(p) {
			if s.InputStatus(x) != InputOpen {
				continue
			}
			found.Unanswered[p] = append(found.Unanswered[p], x.ID)
			found.Asking[x.SessionID]++
			n := found.Standing[s.Root(p)]
			n.questions++
			found.Standing[s.Root(p)] = n
		}
		for _, id := range s.taskIDs.get(p) {
			for _, item := range s.QueuesOf(id) {
				if isOpen(item.Status) {
					key := itemKey(item.ProjectID, item.Queue, id)
					found.OpenOf[id] = append(found.OpenOf[id], key)
				}
			}
		}
	}
	slices.SortFunc(sessions, func(a, b *Session) int {
		return int(s.sequenceOf(a.Cause)) - int(s.sequenceOf(b.Cause))
	})
	children := map[string][]*Session{}
	for _, x := range sessions {
		children[x.SpawnedBy] = append(children[x.SpawnedBy], x)
		if x.Employed() {
			found.Employed = append(found.Employed, x.ID)
		}
		if x.Ended() {
			continue
		}
		found.Living = append(found.Living, x.ID)
		if x.Deadline > 0 {
			found.Deadlines = append(found.Deadlines, x.ID)
		}
		n := found.Standing[s.Root(x.ProjectID)]
		n.sessions++
		found.Standing[s.Root(x.ProjectID)] = n
	}
	for _, x := range sessions {
		for next := children[x.ID]; len(next) > 0; next = next[1:] {
			if !next[0].Ended() {
				found.Below[x.ID] = append(found.Below[x.ID], next[0].ID)
			}
			next = append(next, children[next[0].ID]...)
		}
	}
	for p := range s.Projects() {
		for _, id := range s.sessionIDs.get(p.ID) {
			found.Tally.addSession(s.SessionEver(id), 1)
		}
		for q := range s.Queues(p.ID) {
			found.Tally.Queues++
			found.Tally.addItems(q.Stats, 1)
		}
	}
	return found
}

// holdOpen compares the lists with what exists, in the state itself and in a copy loaded from a snapshot.
func holdOpen(t *testing.T, s *State, where string) openThings {
	t.Helper()
	want := openFound(s)
	if got := openKept(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: the lists have %+v, want %+v", where, got, want)
	}
	if s.under != nil {
		return want
	}
	decoded, err := Decode([]byte(encode(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	if got := openKept(decoded); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: from a snapshot the lists have %+v, want %+v", where, got, want)
	}
	return want
}

// TestOpenIsKeptApart compares these lists with what exists, after each event of random logs.
func TestOpenIsKeptApart(t *testing.T) {
	var questions, deadlines, items, employed int
	for seed := range uint64(40) {
		s := New()
		for i, g := range randomStory(t, seed, 100) {
			apply(t, s, g)
			there := holdOpen(t, s, fmt.Sprintf("seed %d, event %d", seed, i))
			questions, deadlines, items = questions+len(there.Asking), deadlines+len(there.Deadlines), items+
				len(there.OpenOf)
			employed += len(there.Employed)
		}
	}
	if questions == 0 || deadlines == 0 || items == 0 || employed == 0 {
		t.Errorf("the stories had only %d questions, %d deadlines, %d items and %d sessions for runners", questions,
			deadlines, items, employed)
	}
}

// The sessions below one are found in random families, also by overlays, some of which are dropped.
func TestLivingBelowInFamilies(t *testing.T) {
	below := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := stateOf(t, project(), task("t"))
		overlay := s.Overlay()
		n := 0
		for range 60 {
			for range 1 + r.IntN(3) {
				of := fmt.Sprint("s", r.IntN(n+1))
				if x := overlay; x.Session(of) == nil || r.IntN(2) == 0 {
					spawned := spawn(fmt.Sprint("s", n), "t")
					if parent := x.Session(of); parent != nil {
						spawned.data.(*events.SessionSpawned).SpawnedBy = of
					}
					apply(t, x, spawned)
					n++
				} else if r.IntN(3) == 0 {
					apply(t, x, by(admin, &events.SessionDeleted{SessionID: of}))
				} else if !x.Session(of).Ended() {
					apply(t, x, by(admin, &events.SessionKilled{SessionID: of, Status: events.SessionStopped}))
				}
			}
			holdOpen(t, overlay, fmt.Sprintf("seed %d, overlay", seed))
			if r.IntN(4) == 0 {
				overlay.Drop()
				n = len(s.sessionIDs.get("p"))
			} else {
				overlay.Commit()
			}
			below += len(holdOpen(t, s, fmt.Sprintf("seed %d", seed)).Below)
		}
	}
	if below == 0 {
		t.Error("no session lived below another")
	}
}

// A search for what is alive or open does not walk past what has ended.
func TestEndedObjectsCostNothing(t *testing.T) {
	const ended = 1000
	story := []given{project(), task("t"), spawn("o", "t")}
	for i := range ended {
		id := fmt.Sprint("s", i)
		child := spawn(id, "t")
		child.data.(*events.SessionSpawned).SpawnedBy, child.data.(*events.SessionSpawned).Timeout = "o", 1000
		asks := report(SessionSource("p", id), id, events.ReportNeedsInput, "?")
		asks.data.(*events.SessionReported).InputID = fmt.Sprint("i", i)
		story = append(story, child, asks,
			by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped}))
	}
	asks := report(orch, "o", events.ReportNeedsInput, "?")
	asks.data.(*events.SessionReported).InputID = "last"
	s := stateOf(t, append(story, asks)...)
	decoded, err := Decode([]byte(encode(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for when, s := range map[string]*State{"folded": s, "from a snapshot": decoded} {
		for what, c := range map[string]struct {
			look func() int
			want int
		}{
			"the living":                  {func() int { return len(slices.Collect(s.Living())) }, 1},
			"deadlines":                   {func() int { return len(slices.Collect(s.Deadlines())) }, 0},
			"open questions":              {func() int { return len(slices.Collect(unanswered(s, "p"))) }, 1},
			"the living below a session":  {func() int { return len(livingBelow(s, "o")) }, 0},
			"the number of the living":    {func() int { return s.LivingSessions("p") }, 1},
			"the number of questions":     {func() int { return s.OpenQuestions("p") }, 1},
			"the questions of one":        {func() int { return s.OpenQuestionsOf("o") }, 1},
			"the questions of one killed": {func() int { return s.OpenQuestionsOf("s7") }, 0},
		} {
			steps := s.CountReads()
			if got := c.look(); got != c.want || *steps > 5 {
				t.Errorf("%s, %s: %d after %d steps, want %d after 5 at most", what, when, got, *steps, c.want)
			}
		}
	}
	steps := s.CountReads()
	apply(t, s, by(admin, &events.InputAnswered{InputID: "last", SessionID: "o", Answer: "yes"}))
	apply(t, s, by(admin, &events.SessionKilled{SessionID: "o", Status: events.SessionStopped}))
	if *steps > 200 {
		t.Errorf("an answer and an end: %d steps", *steps)
	}
}

// unanswered returns a project's open questions, longest wait first.
func unanswered(s *State, project string) iter.Seq[*Input] {
	return func(yield func(*Input) bool) {
		s.unanswered.get(project).walk(func(id string) bool { return yield(s.inputs.get(id)) })
	}
}

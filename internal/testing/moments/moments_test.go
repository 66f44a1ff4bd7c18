package moments

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

var (
	size   = flag.Uint64("events", 20_000, "how many events the log has")
	points = flag.Int("points", 200, "how many random moments are read")
	seed   = flag.Uint64("seed", 1, "what the log and the moments are drawn from")
)

// A server keeps as many snapshots of this log as one with the default interval keeps of 1,000,000 events.
const snapshots = 20

// readsEach is how many answers are compared at each moment, beside the whole state.
const readsEach = 8

// moment is what a fold of the log from its beginning has after an event.
type moment struct {
	sequence uint64
	digest   events.Hash
	// answers are those of a server whose log ends there, by path.
	answers map[string]string
}

// At random moments of a long log, the past state is the fold of the log from its beginning, and reads of the moment
// answer byte for byte what a server answers whose log ends there. The fold is made in one pass, and the moments are
// read in another order.
func TestMomentsAreTheFold(t *testing.T) {
	t.Logf("-events %d -points %d -seed %d", *size, *points, *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	every := *size / snapshots
	prunes := every >= 50_000
	dir := t.TempDir()
	log := openStore(t, dir, prunes)
	writer := openServer(t, engine.Config{Log: log, Snapshots: log.snapshots, SnapshotEvery: every}, nil)
	fill(t, writer.handler, random, *size)
	writer.close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	log = openStore(t, dir, prunes)
	defer func() { _ = log.Close() }()
	reader := openServer(t, engine.Config{Log: log, Snapshots: log.snapshots, SnapshotEvery: every}, nil)
	defer reader.close()
	saved, err := log.snapshots.List(t.Context())
	if err != nil || len(saved) < snapshots/2 {
		t.Fatalf("%d snapshots were saved: %v", len(saved), err)
	}
	moments := foldOnce(t, log, pick(random, saved), random)
	random.Shuffle(len(moments), func(i, j int) { moments[i], moments[j] = moments[j], moments[i] })
	reads, furthest := 0, uint64(0)
	for _, m := range moments {
		folded := m.check(t, reader)
		if furthest = max(furthest, folded); nearest(saved, m.sequence)+folded != m.sequence {
			t.Errorf("for the state after event %d, %d events were folded", m.sequence, folded)
		}
		reads += len(m.answers)
	}
	t.Logf("%d moments of %d events, with %d snapshots: the states and %d answers were compared; "+
		"at most %d events were folded again", len(moments), *size, len(saved), reads, furthest)
}

// pick returns random moments, and those around some snapshots, in the order of the log.
func pick(random *rand.Rand, saved []uint64) []uint64 {
	picked := []uint64{1, *size}
	for range *points {
		picked = append(picked, 1+random.Uint64N(*size))
	}
	for range 3 {
		at := saved[random.IntN(len(saved))]
		picked = append(picked, at-1, at, min(at+1, *size))
	}
	slices.Sort(picked)
	return slices.Compact(picked)
}

// nearest returns the newest snapshot up to a sequence, 0 if there is none. saved are in order, the newest first.
func nearest(saved []uint64, sequence uint64) uint64 {
	for _, at := range saved {
		if at <= sequence {
			return at
		}
	}
	return 0
}

// foldOnce folds the log from its beginning, and notes what it has at the moments.
func foldOnce(t *testing.T, log engine.Log, picked []uint64, random *rand.Rand) []moment {
	t.Helper()
	state := projections.New()
	var moments []moment
	err := log.Read(t.Context(), 1, picked[len(picked)-1], func(m events.Message) error {
		event, err := events.Decode(m.Body)
		if err != nil {
			return err
		}
		if _, err := state.Apply(m.Sequence, event, events.BodyHash(m.Body)); err != nil {
			return err
		}
		if m.Sequence == picked[len(moments)] {
			moments = append(moments, noted(t, log, state, random))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return moments
}

// noted is the moment at which a state is.
func noted(t *testing.T, log engine.Log, state *projections.State, random *rand.Rand) moment {
	t.Helper()
	encoded, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	live := serverAt(t, log, state, encoded)
	defer live.close()
	m := moment{state.Head().Sequence, events.BodyHash(encoded), map[string]string{}}
	for _, path := range somePaths(state, random) {
		m.answers[path] = live.answer(path)
	}
	return m
}

// somePaths are some reads of a moment, of objects that exist then.
func somePaths(state *projections.State, random *rand.Rand) []string {
	all := []string{
		"/api/projects", "/api/tasks?limit=20", "/api/sessions?limit=2", "/api/queues?limit=20",
		"/api/inputs?limit=20", "/api/inbox?limit=20", "/api/inbox/count", "/api/events?limit=20",
	}
	projects := state.ProjectIDs()
	project := projects[random.IntN(len(projects))]
	in := "projectId=" + project
	all = append(all, "/api/projects/"+project, "/api/projects/"+project+"/status",
		"/api/projects/"+project+"/tree?limit=20", "/api/tasks?limit=20&ready=true&"+in,
		"/api/queues/work?limit=20&"+in)
	if ids := some(random, slices.Collect(state.Tasks(project))); len(ids) > 0 {
		all = append(all, "/api/tasks/"+ids[0].ID, "/api/tasks/"+ids[0].ID+"/timeline?limit=20",
			"/api/tasks/"+ids[0].ID+"/children")
	}
	if ids := some(random, slices.Collect(state.Sessions(project))); len(ids) > 0 {
		all = append(all, "/api/sessions/"+ids[0].ID, "/api/sessions/"+ids[0].ID+"/timeline?limit=20")
	}
	if ids := some(random, slices.Collect(state.Inputs(project))); len(ids) > 0 {
		all = append(all, "/api/inputs/"+ids[0].ID)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:readsEach]
}

// some returns one of the values, none if there are none.
func some[V any](random *rand.Rand, values []V) []V {
	if len(values) == 0 {
		return nil
	}
	i := random.IntN(len(values))
	return values[i : i+1]
}

// check compares a moment with what a server with the whole log says of it, and returns how many events the server
// folded for that.
func (m *moment) check(t *testing.T, reader *server) (folded uint64) {
	t.Helper()
	past, folded, err := reader.handler.Past(t.Context(), m.sequence)
	if err != nil {
		t.Fatal(err)
	}
	var encoded []byte
	past.View(func(state *projections.State) { encoded, err = state.Encode() })
	if err != nil {
		t.Fatal(err)
	}
	if events.BodyHash(encoded) != m.digest {
		t.Errorf("the state after event %d is not the fold up to it", m.sequence)
	}
	for path, want := range m.answers {
		between := "?"
		if strings.Contains(path, "?") {
			between = "&"
		}
		if got := reader.answer(fmt.Sprint(path, between, "at=", m.sequence)); got != want {
			t.Errorf("GET %s at %d answers\n%s\na server whose log ends there answers\n%s", path, m.sequence, got, want)
		}
	}
	return folded
}

package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// readingAtMost opens the world's log with a Handler whose looks end after this many steps.
func (w *world) readingAtMost(steps uint64) {
	w.Helper()
	handler, err := engine.Open(w.Context(), engine.Config{
		Log:      w.log,
		Blobs:    w.Blobs,
		Now:      time.Now,
		After:    time.After,
		ReadMost: steps,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(handler.Close)
	w.Handler = handler
}

// hub creates a task with this many others below it, and as many that depend on it.
func (w *world) hub(project string, below int) (root string) {
	w.Helper()
	root = w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"root"}`, project))
	for range below {
		w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project, root))
	}
	for range min(below, 1000) {
		w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","dependencies":[%q]}`, project, root))
	}
	return root
}

// leadOf spawns an orchestrator, and returns it as an admitted caller.
func (w *world) leadOf(project, task string) (*Caller, *Admission) {
	w.Helper()
	done := w.do(w.admin(), "session:spawn",
		fmt.Sprintf(`{"project":%q,"role":"orchestrator","taskIds":[%q]}`, project, task))
	c := w.caller(done.Token)
	a, err := w.Admit(w.Context(), c, Demand{Writes: true})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(a.Leave)
	return c, a
}

// A manifest of a task with thousands of tasks around it lists a hundred of each kind, costs as much as that of a task
// with a hundred, and is gathered in portions.
func TestManifestListsFewRelatedTasks(t *testing.T) {
	const many = 20 * manifest.MostAround
	blobs := &countedBlobs{kept: map[string][]byte{}}
	w := worldWith(t, &memoryLog{}, sizedBlobs{blobs})
	if err := w.Limits.Set("session-commands=0.001/10000"); err != nil {
		t.Fatal(err)
	}
	w.ledger = newLedger(&w.Limits)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	few, hub := w.hub(project, manifest.MostAround), w.hub(project, many)
	c, a := w.leadOf(project, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project)))
	w.readingAtMost(many)

	relatives := func(id string) (around map[string]int) {
		t.Helper()
		m, err := w.GenerateManifest(t.Context(), c, &wire.NewManifest{TaskIDs: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		around = map[string]int{}
		for _, task := range m.Context.RelatedTasks {
			around[task.Relationship]++
		}
		return around
	}
	cost := func(id string) float64 {
		before := w.ledger.left(a.credential, useCommands)
		around := relatives(id)
		if around["related"] != manifest.MostAround || around["blocking"] != manifest.MostAround {
			t.Errorf("the manifest lists %v", around)
		}
		return before - w.ledger.left(a.credential, useCommands)
	}
	if one, other := cost(few), cost(hub); other > one+1 {
		t.Errorf("a manifest costs %v commands with %d tasks around, %v with %d", one, manifest.MostAround, other, many)
	}
	allocations := func(id string) float64 { return testing.AllocsPerRun(3, func() { relatives(id) }) }
	if one, other := allocations(few), allocations(hub); other > 1.2*one+50 {
		t.Errorf("a manifest takes %v allocations with %d tasks around, %v with %d",
			one, manifest.MostAround, other, many)
	}
	if err := w.generate(c, project, hub); err != nil {
		t.Error(err)
	}
}

// generate returns the manifest of a dry run of a spawn.
func (w *world) generate(c *Caller, project, task string) error {
	caller := *c
	caller.Meta = Meta{Key: "k"}
	body := fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, task)
	_, err := w.Do(w.Context(), &caller, Call{
		ID:      "session:spawn",
		Length:  int64(len(body)),
		Body:    func() ([]byte, error) { return []byte(body), nil },
		Drop:    func() {},
		Options: Options{DryRun: true},
	})
	return err
}

// Deleted tasks stay in the lists of the tasks below a task: the same bound applies to them.
func TestSearchPastDeletedTasksIsBounded(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	root := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"root"}`, project))
	for range listsLooked + 500 {
		w.do(w.admin(), "task:delete", fmt.Sprintf(`{"taskId":%q}`,
			w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project, root))))
	}
	w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project, root))
	w.readingAtMost(stepsAtOnce + 2000)
	g := &gathering{from: new(manifest.Source), project: project, ids: []string{root}}
	steps := 0
	if err := w.gather(t.Context(), w.admin(), g); err != nil || len(g.around) != 0 {
		t.Errorf("%d tasks around, %v", len(g.around), err)
	}
	if steps = listsLooked - g.children.looks; steps != listsLooked {
		t.Errorf("%d deleted tasks were looked at", steps)
	}
}

// A caller with a debt gets no manifest, and nothing is gathered for it.
func TestIndebtedCallerGathersNothing(t *testing.T) {
	w := bounded(t, "session-commands=0.001/100")
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	hub := w.hub(project, manifest.MostAround)
	c, a := w.leadOf(project, hub)
	ask := func() error {
		_, err := w.GenerateManifest(t.Context(), c, &wire.NewManifest{TaskIDs: []string{hub}})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	a.worked(1000 * StepsPerCommand)
	if err := ask(); busy(err) != "session-commands" {
		t.Errorf("a caller with a debt gets %v", err)
	}
	g := &gathering{from: new(manifest.Source), project: project, ids: []string{hub}}
	if err := w.gather(t.Context(), c, g); busy(err) != "session-commands" || g.around != nil {
		t.Errorf("%d tasks were gathered: %v", len(g.around), err)
	}
}

// The memory of a manifest that is being created counts against the budgets of answers; a caller that waits for its
// turn uses none.
func TestManifestsCountWhileTheyAreMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &countedBlobs{kept: map[string][]byte{}}
		w := worldWith(t, &memoryLog{}, sizedBlobs{blobs})
		_, project, tasks := longTasks(w, 1)
		c, a := w.leadOf(project, tasks[0])
		w.ledger.quotas[ClassSession][useParallel].Value = 0
		blobs.inside, blobs.hold = 0, make(chan struct{})
		used := func() int64 {
			a.credential.mu.Lock()
			defer a.credential.mu.Unlock()
			return a.credential.used[useAnswers-rates]
		}
		var asked sync.WaitGroup
		for range 8 {
			asked.Go(func() {
				caller := *c
				caller.admission = nil
				b, err := w.Admit(t.Context(), &caller, Demand{Writes: true})
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Leave()
				_, err = w.GenerateManifest(t.Context(), &caller, &wire.NewManifest{TaskIDs: tasks})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if one := used(); one < 2*longDescription || one > 4*longDescription { // an account makes one at a time
			t.Errorf("a manifest of %d bytes counts as %d while it is created", longDescription, one)
		}
		close(blobs.hold)
		asked.Wait()
		if used() != 0 {
			t.Errorf("%d bytes still count", used())
		}
	})
}

// A session is told its predecessor's last reports, which are read from the end of a long timeline.
func TestPredecessorTimelineIsReadFromEnd(t *testing.T) {
	x := &projections.Session{SessionFields: &projections.SessionFields{ID: "x", ProjectID: "p"}}
	timeline := make(projections.Timeline, 3*newestLooked)
	for i := range timeline {
		timeline[i] = projections.PlaceAt(uint64(i+1), 0)
	}
	entry := func(sequence uint64) *projections.Entry {
		e := &projections.Entry{
			Sequence: sequence,
			Type:     "progress",
			Source:   x.Source(),
			Message:  "m",
		}
		if sequence > newestLooked+1 {
			e.Message = ""
		}
		return e
	}
	for length, want := range map[int]int{len(timeline): 0, newestLooked: predecessorWords} {
		before := &predecessor{Session: x, timeline: timeline[:length], newest: newestOfTest(entry)}
		if words := before.manifest().Words; len(words) != want {
			t.Errorf("of %d entries it is told %d reports, want %d", length, len(words), want)
		}
	}
}

// newestOfTest reads timelines whose entries are made up.
func newestOfTest(
	entry func(sequence uint64) *projections.Entry,
) func(projections.Timeline) iter.Seq[*projections.Entry] {
	return func(timeline projections.Timeline) iter.Seq[*projections.Entry] {
		return func(yield func(*projections.Entry) bool) {
			for _, place := range slices.Backward(timeline) {
				if !yield(entry(place.Sequence())) {
					return
				}
			}
		}
	}
}

// A prompt contains the predecessor's reports, so a long report is cut.
func TestPredecessorReportsAreTruncated(t *testing.T) {
	long := strings.Repeat("€", predecessorBytes)
	x := &projections.Session{SessionFields: &projections.SessionFields{ID: "x", ProjectID: "p"}}
	x.EndReason = long
	before := &predecessor{
		Session:  x,
		result:   &projections.StatementView{Text: long},
		timeline: projections.Timeline{projections.PlaceAt(1, 0), projections.PlaceAt(2, 0)},
		newest: newestOfTest(func(sequence uint64) *projections.Entry {
			text := []string{"short", long}[sequence-1]
			return &projections.Entry{
				Sequence: sequence,
				Type:     "progress",
				Source:   x.Source(),
				Message:  text,
			}
		}),
	}
	told := before.manifest()
	for _, text := range []string{told.EndReason, told.Result} {
		if len(text) > predecessorBytes+len("…") || !strings.HasSuffix(text, "…") {
			t.Errorf("%d bytes", len(text))
		}
	}
	if !slices.Equal(told.Cut, []string{"endReason", "result"}) {
		t.Errorf("the cut fields are %v", told.Cut)
	}
	words := told.Words
	if len(words) != 2 || words[0].Text != "short" || words[0].Cut {
		t.Fatalf("%+v", words)
	}
	cut := strings.TrimSuffix(words[1].Text, "…")
	if !words[1].Cut || len(cut) > predecessorBytes || !strings.HasPrefix(long, cut) || !utf8.ValidString(cut) {
		t.Errorf("%d bytes, cut %t", len(cut), words[1].Cut)
	}
}

// The sessions below one are found in portions, which are charged.
func TestSessionsBelowAreFoundInPortions(t *testing.T) {
	const children = stepsAtOnce
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	tasks := make([]string, 0, children/900+1)
	for range cap(tasks) {
		tasks = append(tasks, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project)))
	}
	lead, a := w.leadOf(project, tasks[0])
	if err := w.Limits.Set("project-sessions=10000"); err != nil {
		t.Fatal(err)
	}
	living := make([]string, children)
	for i := range children {
		body := fmt.Sprintf(`{"project":%q,"spawnedBy":%q,"taskIds":[%q]}`, project, lead.By.Name, tasks[i/900])
		living[i] = w.make(w.admin(), "session:spawn", body)
	}
	w.readingAtMost(stepsAtOnce + 1000)
	before := w.ledger.left(a.credential, useCommands)
	below, err := w.livingBelow(t.Context(), lead, lead.By.Name)
	if err != nil || !slices.Equal(below, living) {
		t.Errorf("%d are below, want %d: %v", len(below), children, err)
	}
	if paid := before - w.ledger.left(a.credential, useCommands); paid < 2*children/StepsPerCommand-1 {
		t.Errorf("%v commands were charged for %d sessions", paid, children)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := w.livingBelow(gone, lead, lead.By.Name); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left gets %v", err)
	}
}

// The earlier event of a refused command's key is searched only in projects where its caller may have written.
func TestRetryIsSearchedInCallersProjects(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
	done := w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, task))
	c := w.caller(done.Token)
	c.Meta = Meta{Key: "k", Named: true}
	cost := func() float64 {
		return testing.AllocsPerRun(10, func() {
			if w.permitAnywhere(t.Context(), c, "task:complete") == nil {
				t.Error("the command is permitted")
			}
		})
	}
	before := cost()
	for range 200 {
		w.make(w.admin(), "project:create", `{"name":"P"}`)
	}
	if after := cost(); after > before+10 {
		t.Errorf("a refusal takes %v allocations with one project, %v with 201", before, after)
	}
}

// Checking the quotas of a command ends when its caller leaves.
func TestQuotaCheckEndsWithCaller(t *testing.T) {
	w := newWorld(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := w.within(gone, w.admin(), engine.Request{By: w.admin().By}, true); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left gets %v", err)
	}
}

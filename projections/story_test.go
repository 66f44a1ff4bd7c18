package projections

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"maestro/events"
)

// The sources of the tests' events.
const (
	admin  = "/users/admin"
	worker = "/projects/p/sessions/w"
	second = "/projects/p/sessions/w2"
	orch   = "/projects/p/sessions/o"
)

// epoch is when the first event of every story happens; each further one is a second later.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at gives the milliseconds of the event at a sequence.
func at(sequence int) int64 {
	return epoch.Add(time.Duration(sequence) * time.Second).UnixMilli()
}

// given is one event of a story; the project is p unless it says another.
type given struct {
	by      string
	data    events.Data
	project string
	said    time.Time
}

// event puts what is given behind a state.
func (g given) event(s *State) *events.Event {
	sequence := s.Head().Sequence + 1
	project := g.project
	if project == "" {
		project = "p"
	}
	return &events.Event{
		ID: events.ID("test", "", "", fmt.Sprint(sequence)), Source: g.by, Time: epoch.Add(time.Duration(sequence) * time.Second),
		OccurredAt: g.said, Project: project, PrevHash: s.Head().Hash, Rules: "1", Authn: "token", Data: g.data,
	}
}

// stored encodes an event as the log does and reads it back, so that a test folds what a replay would.
func stored(t testing.TB, e *events.Event) (*events.Event, []byte) {
	t.Helper()
	body, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := events.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return read, body
}

// apply folds one event and gives what it changed.
func apply(t testing.TB, s *State, g given) []Change {
	t.Helper()
	e, body := stored(t, g.event(s))
	changes, err := s.Apply(s.Head().Sequence+1, e, events.BodyHash(body))
	if err != nil {
		t.Fatalf("%s: %v", g.data.EventType(), err)
	}
	return changes
}

// stateOf folds a story.
func stateOf(t testing.TB, story ...given) *State {
	t.Helper()
	s := New()
	for _, g := range story {
		apply(t, s, g)
	}
	return s
}

func by(source string, data events.Data) given { return given{by: source, data: data} }

// Shorthands for what most stories begin with. Task p has a project, t1 and t2 are its tasks, w and w2 workers, o an orchestrator.
func project() given { return by(admin, &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}) }

func task(id string) given {
	return by(admin, &events.TaskCreated{TaskID: id, Title: "Title of " + id, Priority: "medium"})
}

func spawn(id string, tasks ...string) given {
	return by(admin, &events.SessionSpawned{SessionID: id, Name: id, Role: events.RoleWorker, Strategy: events.StrategySimple, TaskIDs: tasks, Started: tasks})
}

func report(source, session string, kind events.ReportKind, message string, tasks ...string) given {
	return by(source, &events.SessionReported{SessionID: session, Kind: kind, Message: message, TaskIDs: tasks})
}

// show gives everything that a state can show, as one text: every view of everything that was ever named.
func show(t testing.TB, s *State) string {
	t.Helper()
	type shown struct {
		Head     events.Head
		At       time.Time
		Genesis  events.Hash
		Projects []ProjectStatus
		Trees    [][]TaskTree
		Tasks    []TaskView
		Sessions []SessionView
		Lines    map[string][]EntryView
		Entries  int
	}
	out := shown{Head: s.Head(), At: s.At(), Genesis: s.Genesis(), Lines: map[string][]EntryView{}, Entries: len(s.entries)}
	for p := range s.Projects() {
		out.Projects = append(out.Projects, s.ProjectStatus(p))
		out.Trees = append(out.Trees, s.TaskTrees(p.ID))
		out.Tasks = append(out.Tasks, s.TaskViews(s.Tasks(p.ID))...)
		for x := range s.Sessions(p.ID) {
			out.Sessions = append(out.Sessions, x.View())
		}
	}
	for _, id := range poolSessions {
		out.Lines["session "+id] = s.SessionTimeline(id).Views(0, nil)
	}
	for _, id := range poolTasks {
		out.Lines["task "+id] = s.TaskTimeline(id).Views(0, nil)
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func encode(t testing.TB, s *State) string {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	poolProjects = []string{"p", "q"}
	poolTasks    = []string{"t1", "t2", "t3", "t4", "t5", "t6"}
	poolSessions = []string{"w", "w2", "o", "x"}
)

// anything makes up an event, which may well contradict the state.
func anything(r *rand.Rand) given {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	some := func(from []string) []string {
		var chosen []string
		for _, id := range from {
			if r.IntN(3) == 0 {
				chosen = append(chosen, id)
			}
		}
		return chosen
	}
	p, t, x := pick(poolProjects), pick(poolTasks), pick(poolSessions)
	text := fmt.Sprintf("text %d ✓", r.IntN(1000))
	maybe := func() *string {
		if r.IntN(2) == 0 {
			return nil
		}
		return new(text)
	}
	says := []events.ReportKind{events.ReportProgress, events.ReportComplete, events.ReportBlocked, events.ReportError, events.ReportNeedsInput}
	statuses := []events.TaskStatus{events.TaskTodo, events.TaskInProgress, events.TaskCompleted, events.TaskCancelled, events.TaskBlocked}
	status := statuses[r.IntN(len(statuses))]
	var data events.Data
	switch r.IntN(24) {
	case 0:
		data = &events.ProjectCreated{ProjectID: p, Name: text}
	case 1:
		data = &events.ProjectUpdated{ProjectID: p, Name: maybe(), Description: maybe(), Blobs: events.Blobs{"description": text}}
	case 2:
		if r.IntN(10) == 0 {
			data = &events.ProjectDeleted{ProjectID: p}
			break
		}
		fallthrough
	case 3, 4:
		parent := ""
		if r.IntN(2) == 0 {
			parent = pick(poolTasks)
		}
		data = &events.TaskCreated{TaskID: t, Title: text, Priority: "low", ParentID: parent, Dependencies: some(poolTasks), Metadata: json.RawMessage(`{"a": [1]}`)}
	case 5:
		update := &events.TaskUpdated{TaskID: t, Title: maybe(), Description: maybe(), SkillIDs: new(some(poolTasks))}
		if r.IntN(2) == 0 {
			update.Status = &events.StatusChange{From: events.TaskTodo, To: status}
		}
		data = update
	case 6, 7:
		data = &events.TaskStatusChanged{TaskID: t, From: events.TaskTodo, To: status, Reason: text}
	case 8:
		if r.IntN(4) == 0 {
			data = &events.TaskDeleted{TaskID: t, Recursive: true, Descendants: some(poolTasks)}
			break
		}
		fallthrough
	case 9, 10:
		data = &events.SessionSpawned{SessionID: x, Name: text, Role: events.RoleWorker, Strategy: events.StrategySimple, TaskIDs: some(poolTasks), Started: some(poolTasks), Context: json.RawMessage(`{ }`)}
	case 11:
		data = &events.SessionRegistered{SessionID: x}
	case 12:
		data = &events.SessionRegistered{SessionID: x, Created: &events.SessionCreated{Name: text, Role: events.RoleOrchestrator, Strategy: events.StrategyDefault, Status: events.SessionIdle, TaskIDs: some(poolTasks)}}
	case 13:
		data = &events.SessionUpdated{SessionID: x, Name: maybe(), TaskIDs: new(some(poolTasks)), Env: map[string]string{"A": text}}
	case 14:
		data = &events.SessionCompleted{SessionID: x}
	case 15:
		data = &events.SessionKilled{SessionID: x, Reason: text, Status: events.SessionStopped}
	case 16:
		if r.IntN(4) == 0 {
			data = &events.SessionDeleted{SessionID: x}
			break
		}
		fallthrough
	case 17, 18, 19:
		data = &events.SessionReported{SessionID: x, Kind: says[r.IntN(len(says))], Message: text, TaskIDs: some(poolTasks), SessionCompleted: r.IntN(8) == 0, Late: r.IntN(8) == 0}
	case 20:
		data = &events.SessionNoted{SessionID: x, Type: "note", Message: text, TaskID: t, Data: json.RawMessage(`{"n": 1}`)}
	case 21:
		data = &events.SessionFileTracked{SessionID: x, File: text, TaskID: t}
	case 22:
		data = &events.SessionTaskLinked{SessionID: x, TaskID: t}
	case 23:
		data = &events.SessionTaskUnlinked{SessionID: x, TaskID: t}
	}
	g := given{by: pick([]string{admin, worker, orch, "/runners/r", "/system"}), data: data, project: p}
	if r.IntN(4) == 0 {
		g.said = epoch.Add(-time.Hour)
	}
	return g
}

// try folds what is given and reports whether it fitted.
func try(t testing.TB, s *State, g given) bool {
	t.Helper()
	e, body := stored(t, g.event(s))
	_, err := s.Apply(s.Head().Sequence+1, e, events.BodyHash(body))
	return err == nil
}

// randomStory makes a story of at most n events that fit: one that has deleted everything is over sooner.
func randomStory(t testing.TB, seed uint64, n int) []given {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	s := New()
	story := []given{{by: admin, data: &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}}, {by: orch, data: &events.ProjectCreated{ProjectID: "q", Name: "Beta"}, project: "q"}}
	for _, g := range story {
		apply(t, s, g)
	}
	for misses := 0; len(story) < n && misses < 200; misses++ {
		if g := anything(r); try(t, s, g) {
			story = append(story, g)
			misses = 0
		}
	}
	return story
}

// The random stories are worth something only if they have everything in them.
func TestRandomStoriesHaveEveryType(t *testing.T) {
	have := map[string]int{}
	for seed := range uint64(20) {
		for _, g := range randomStory(t, seed, 120) {
			have[g.data.EventType()]++
		}
	}
	for _, entry := range events.Catalogue() {
		if have[entry.Type] == 0 {
			t.Errorf("no random story has a %s", entry.Type)
		}
	}
}

func idsOf[T any](seq func(yield func(T) bool), id func(T) string) []string {
	var ids []string
	for value := range seq {
		ids = append(ids, id(value))
	}
	return ids
}

func equalLists(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

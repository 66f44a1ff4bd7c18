package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
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

// at returns the time of the event at a sequence, in milliseconds.
func at(sequence int) int64 {
	return epoch.Add(time.Duration(sequence) * time.Second).UnixMilli()
}

// given is one event of a story. Its project is p unless it names another or nowhere.
type given struct {
	by      string
	data    events.Data
	project string
	said    time.Time
}

// nowhere stands for no project, as for the creation of a token.
const nowhere = "-"

// event returns the event that follows a state.
func (g given) event(s *State) *events.Event {
	sequence := s.Head().Sequence + 1
	project := g.project
	switch project {
	case "":
		project = "p"
	case nowhere:
		project = ""
	}
	return &events.Event{
		ID:         events.ID("test", "", "", fmt.Sprint(sequence)),
		Source:     g.by,
		Time:       epoch.Add(time.Duration(sequence) * time.Second),
		OccurredAt: g.said,
		Project:    project,
		PrevHash:   s.Head().Hash,
		Rules:      "1",
		Authn:      "token",
		Data:       g.data,
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
	remember(read, body)
	return read, body
}

// apply folds one event and returns what it changed.
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

// Shorthands for the beginnings of most stories: a project p with the tasks t1 and t2, the workers w and w2, and an
// orchestrator o.
func project() given { return by(admin, &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}) }

func task(id string) given {
	return by(admin, &events.TaskCreated{TaskID: id, Title: "Title of " + id, Priority: "medium"})
}

func taskBelow(parent, id string) given {
	return by(admin, &events.TaskCreated{
		TaskID:   id,
		Title:    "Title of " + id,
		Priority: "medium",
		ParentID: parent,
	})
}

func spawn(id string, tasks ...string) given {
	return by(admin, &events.SessionSpawned{
		SessionID: id,
		Name:      id,
		Role:      events.RoleWorker,
		Strategy:  events.StrategySimple,
		TaskIDs:   tasks,
		Started:   tasks,
	})
}

func report(source, session string, kind events.ReportKind, message string, tasks ...string) given {
	return by(source, &events.SessionReported{
		SessionID: session,
		Kind:      kind,
		Message:   message,
		TaskIDs:   tasks,
	})
}

// show returns every view of everything that was ever named in a state as one text.
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
		Queues   []shownQueue
		Held     []string
		Inputs   []InputView
		Inbox    []InboxItem
		Hands    []shownHands
		Below    [][]string
		Tokens   []TokenView
		// Templates includes deleted ones.
		Templates []*Template `json:",omitempty"`
		Webhooks  []*Webhook  `json:",omitempty"`
		// Deadlines are those of all projects, in order.
		Deadlines []string
	}
	out := shown{
		Head:    s.Head(),
		At:      s.At(),
		Genesis: s.Genesis(),
		Lines:   map[string][]EntryView{},
		Entries: places(s),
	}
	now := s.At().Add(time.Hour).UnixMilli()
	for p := range s.Projects() {
		out.Projects = append(out.Projects, s.ProjectStatus(p))
		out.Trees = append(out.Trees, s.TaskTrees(p.ID, MaxTreeTasks))
		out.Tasks = append(out.Tasks, s.TaskViews(s.Tasks(p.ID))...)
		for x := range s.Sessions(p.ID) {
			out.Sessions = append(out.Sessions, x.View())
		}
		for x := range s.Inputs(p.ID) {
			out.Inputs = append(out.Inputs, s.InputView(x, now))
		}
		out.Inbox = append(out.Inbox, s.Inbox(p.ID, nil)...)
	}
	for _, p := range s.projectIDs { // queues and held items outlive their project
		for q := range s.Queues(p) {
			out.Queues = append(out.Queues, showQueue(s, q))
		}
		for _, id := range s.sessionIDs.get(p) {
			out.Hands = append(out.Hands, showHands(s, id))
			descent := s.DescentFrom(id)
			s.FindDescendants(descent, math.MaxUint64)
			if below := descent.Living; len(below) > 0 {
				out.Below = append(out.Below, append([]string{id}, below...))
			}
		}
	}
	for item := range s.Held() {
		out.Held = append(out.Held, itemKey(item.ProjectID, item.Queue, item.TaskID))
	}
	for token := range s.Tokens() {
		out.Tokens = append(out.Tokens, token.View())
	}
	for _, id := range s.templateIDs {
		out.Templates = append(out.Templates, s.templates.get(id))
	}
	for _, id := range s.webhookIDs {
		out.Webhooks = append(out.Webhooks, s.webhooks.get(id))
	}
	out.Deadlines = idsOf(s.Deadlines(), func(x *Session) string { return x.ID })
	for _, id := range poolSessions {
		out.Lines["session "+id] = viewsOf(sessionEntries(s, id))
	}
	for _, id := range poolTasks {
		out.Lines["task "+id] = viewsOf(taskEntries(s, id))
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shownQueue is everything that a state shows of a queue.
type shownQueue struct {
	QueueView
	Items      []ItemView
	Top        string
	PassedOver int
	ReadyLine  []string
	// WaitingLine are the items that wait for something, first to last.
	WaitingLine []string
}

func shownItems(s *State, q *Queue) []ItemView {
	items, _ := itemViews(s, q, nil)
	return items
}

func showQueue(s *State, q *Queue) shownQueue {
	key := queueKey(q.ProjectID, q.Name)
	top, passedOver := s.Top(q)
	shown := shownQueue{
		QueueView:   s.QueueView(q),
		Items:       shownItems(s, q),
		PassedOver:  passedOver,
		ReadyLine:   inLine(s.ready.get(key)),
		WaitingLine: inLine(s.waiting.get(key)),
	}
	if top != nil {
		shown.Top = top.TaskID
	}
	return shown
}

// inLine returns the items of a line, first to last.
func inLine(l line) []string {
	var tasks []string
	l.walk(func(task string) bool { tasks = append(tasks, task); return true })
	return tasks
}

// shownHands are the items that a session holds and held, and its unread mail.
type shownHands struct {
	Session     string
	Gone        string
	Holds       string
	HeldOnce    []string
	Undelivered []string
}

func showHands(s *State, session string) shownHands {
	shown := shownHands{Session: session, Gone: s.Gone(session), Undelivered: slices.Clone(s.Undelivered(session))}
	if item := s.Holds(s.SessionEver(session)); item != nil {
		shown.Holds = item.Queue + "/" + item.TaskID
	}
	for _, id := range poolTasks {
		if s.HeldOnce(session, id) {
			shown.HeldOnce = append(shown.HeldOnce, id)
		}
		for _, item := range s.QueuesOf(id) {
			if slices.Contains(item.Holders, session) {
				shown.HeldOnce = append(shown.HeldOnce, item.Queue+"/"+id)
			}
		}
	}
	return shown
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
	poolProjects  = []string{"p", "q"}
	poolTasks     = []string{"t1", "t2", "t3", "t4", "t5", "t6"}
	poolSessions  = []string{"w", "w2", "o", "x", "y", "z"}
	poolQueues    = []string{"a", "b", "w", "x"} // the last two are the sessions' own queues, if they have one
	poolInputs    = []string{"i1", "i2", "i3", "i4", "i5"}
	poolTokens    = []string{"ci", "bot"}
	poolTemplates = []string{"execute-simple", "mine", "yours"} // the first is Maestro's own
	poolWebhooks  = []string{"hook", "other"}
)

// likely returns an event of queues, questions, tokens or deadlines that fits this state: at random, the holder of an
// item would seldom finish it. It prefers types of which a story has few.
func likely(r *rand.Rand, s *State, have map[string]int) (given, bool) {
	found := map[string][]given{}
	add := func(project, source string, data events.Data) {
		found[data.EventType()] = append(found[data.EventType()], given{by: source, data: data, project: project})
	}
	for p := range s.Projects() {
		likelyOfSessions(r, s, p.ID, add)
		likelyOfQueues(s, p.ID, add)
		for x := range unanswered(s, p.ID) {
			add(p.ID, admin, &events.InputAnswered{InputID: x.ID, SessionID: x.SessionID, Answer: "yes"})
		}
	}
	for _, name := range poolTokens {
		switch token := s.Token(name); {
		case token == nil:
			add(nowhere, admin, &events.TokenCreated{Name: name, Kind: events.TokenAuditor, Generation: 1})
		case token.Live():
			add(nowhere, admin, &events.TokenRevoked{Name: name, Generation: token.Generation})
		default:
			add(nowhere, admin, &events.TokenCreated{Name: name, Kind: events.TokenAdmin, Generation: token.Generation +
				1})
		}
	}
	if len(found) == 0 {
		return given{}, false
	}
	types := slices.Sorted(maps.Keys(found)) // the type first, or pushes displace all others
	if r.IntN(2) == 0 {                      // one of the types that the story has least of
		slices.SortStableFunc(types, func(a, b string) int { return cmp.Compare(have[a], have[b]) })
		types = types[:(len(types)+3)/4]
	}
	these := found[types[r.IntN(len(types))]]
	return these[r.IntN(len(these))], true
}

func likelyOfSessions(r *rand.Rand, s *State, p string, add func(project, source string, data events.Data)) {
	for x := range s.Sessions(p) {
		if r.IntN(6) == 0 { // a few, or the sessions would be resumed before anything comes of their end
			likelyOfRuns(r, s, x, add)
		}
		if x.Ended() {
			continue
		}
		me := x.Source()
		if x.Lost() {
			if s.Holds(x) == nil || r.IntN(4) == 0 { // otherwise its item would seldom be returned
				add(p, "/system", &events.SessionRecovered{SessionID: x.ID})
			}
		} else {
			add(p, "/system", &events.SessionLost{SessionID: x.ID, LastHeard: x.LastActivity, Lease: 60_000})
		}
		if x.Deadline > 0 && r.IntN(4) == 0 {
			add(p, "/system", &events.SessionTimedOut{SessionID: x.ID, Deadline: x.Deadline})
		}
		if id := poolInputs[r.IntN(len(poolInputs))]; s.Input(id) == nil {
			add(p, me, &events.SessionReported{
				SessionID: x.ID,
				Kind:      events.ReportNeedsInput,
				Message:   "which?",
				InputID:   id,
				Options:   []string{"yes", "no"},
			})
		}
		if r.IntN(4) == 0 && len(x.Mail) < 5 {
			add(p, admin, &events.SessionMessaged{
				SessionID: x.ID, MessageID: fmt.Sprint("m", s.Head().Sequence),
				Text: "Go on",
			})
		}
		if len(x.TaskIDs) > 0 && s.Task(x.TaskIDs[0]) != nil && r.IntN(4) == 0 && len(x.Mail) < 5 {
			add(p, admin, &events.TaskStatusChanged{
				TaskID: x.TaskIDs[0],
				From:   s.Task(x.TaskIDs[0]).Status,
				To:     events.TaskInProgress,
				Reason: "again",
				Notice: &events.Notice{MailID: fmt.Sprint("n", s.Head().Sequence), SessionIDs: []string{x.ID}},
			})
		}
		for _, id := range s.Undelivered(x.ID) {
			add(p, me, &events.InputDelivered{InputID: id, SessionID: x.ID})
		}
		add(p, admin, &events.TokenRevoked{SessionID: x.ID, Generation: x.Generation + 1})
		if item := s.Holds(x); item != nil {
			if item.Attempts > 1 || r.IntN(2) == 0 {
				continue // otherwise items would seldom be returned and quarantined
			}
			add(p, me, &events.QueueItemCompleted{Queue: item.Queue, TaskID: item.TaskID, SessionID: x.ID})
			add(p, me, &events.QueueItemFailed{
				Queue:     item.Queue,
				TaskID:    item.TaskID,
				SessionID: x.ID,
				Reason:    "broken",
			})
			add(p, me, &events.QueueItemSkipped{
				Queue:     item.Queue,
				TaskID:    item.TaskID,
				SessionID: x.ID,
				Held:      true,
			})
			continue
		}
		q := s.Queue(p, x.Queue)
		if q == nil || x.Lost() {
			continue
		}
		if top, passedOver := s.Top(q); top != nil {
			add(p, me, &events.QueueItemStarted{
				Queue:      q.Name,
				TaskID:     top.TaskID,
				SessionID:  x.ID,
				Attempt:    top.Attempts + 1,
				PassedOver: passedOver,
			})
			add(p, me, &events.QueueItemSkipped{Queue: q.Name, TaskID: top.TaskID, SessionID: x.ID})
		}
	}
}

// likelyOfRuns adds what a runner says of a session, and that it is resumed.
func likelyOfRuns(r *rand.Rand, s *State, x *Session, add func(project, source string, data events.Data)) {
	const runner = "/runners/r"
	run := x.LastRun()
	if !x.Ended() && !x.Claimed() {
		add(x.ProjectID, runner, &events.SessionClaimed{
			SessionID: x.ID,
			Runner:    "r",
			Run:       x.NextRun(),
			Host:      "box",
			Resumes:   run != nil,
		})
	}
	if run == nil {
		return
	}
	if !run.IsResumed() && (x.Ended() || x.Lost() || run.Exited()) {
		add(x.ProjectID, admin, &events.SessionResumed{
			SessionID:  x.ID,
			Run:        x.NextRun(),
			Generation: x.Generation + 1,
			Deadline:   x.Deadline,
		})
	}
	if run.Exited() || run.IsResumed() {
		return
	}
	status := []events.SessionStatus{"", events.SessionSaidDone, events.SessionEndFailed}[r.IntN(3)]
	add(x.ProjectID, runner, &events.SessionExited{
		SessionID:    x.ID,
		Run:          run.Number,
		ExitCode:     new(int),
		Status:       status,
		LastOutput:   "bye",
		Conversation: "c",
	})
	add(x.ProjectID, runner, &events.SessionUsed{
		SessionID:   x.ID,
		Run:         run.Number,
		Model:       fmt.Sprint("m", r.IntN(20)),
		InputTokens: 7,
	})
	add(x.ProjectID, runner, &events.SandboxBlocked{
		SessionID: x.ID,
		Run:       run.Number,
		Command:   "rm -rf /",
		Reason:    "it deletes",
	})
	add(x.ProjectID, runner, &events.SessionStuck{
		SessionID: x.ID,
		Run:       run.Number,
		Kind:      events.StuckLoop,
		Since:     1,
	})
	if id := poolInputs[r.IntN(len(poolInputs))]; s.Input(id) == nil {
		add(x.ProjectID, runner, &events.PreflightFailed{
			SessionID: x.ID,
			Run:       run.Number,
			Check:     "login",
			Message:   "not logged in",
			InputID:   id,
		})
	}
}

func likelyOfQueues(s *State, p string, add func(project, source string, data events.Data)) {
	for i, name := range poolQueues[:2] {
		if s.Queue(p, name) == nil {
			add(p, admin, &events.QueueCreated{Queue: name, TrustReports: i == 0, MaxAttempts: 2})
		}
	}
	for _, id := range poolSessions {
		if s.SessionEver(id) == nil && s.Queue(p, "a") != nil {
			add(p, admin, &events.SessionSpawned{
				SessionID: id,
				Name:      id,
				Role:      events.RoleWorker,
				Strategy:  events.StrategyQueue,
				Queue:     "a",
				Timeout:   60_000,
			})
		}
	}
	for q := range s.Queues(p) {
		for t := range s.Tasks(p) {
			if s.Item(p, q.Name, t.ID) == nil {
				add(p, admin, &events.QueueItemPushed{Queue: q.Name, TaskID: t.ID})
			}
		}
		if q.SessionID == "" && q.Stats.Completed > 1 && q.Stats.Queued+q.Stats.Processing == 0 {
			add(p, admin, &events.QueueDeleted{Queue: q.Name})
		}
		for _, item := range s.Items(q) {
			switch item.Status {
			case events.ItemQuarantined, events.ItemFailed, events.ItemSkipped:
				add(p, admin, &events.QueueItemRequeued{Queue: q.Name, TaskID: item.TaskID})
			case events.ItemCompleted:
				add(p, admin, &events.QueueItemRemoved{Queue: q.Name, TaskID: item.TaskID})
			case events.ItemQueued:
				line := s.Line(q)
				if first, last := line[0].TaskID, line[len(line)-1].TaskID; first != last && item.TaskID == last {
					add(p, admin, &events.QueueItemMoved{Queue: q.Name, TaskID: first})
					add(p, admin, &events.QueueItemMoved{Queue: q.Name, TaskID: last, Before: first})
				}
			case events.ItemProcessing:
				switch gone := s.Gone(item.SessionID); {
				case gone == "":
				case item.Attempts >= q.MaxAttempts:
					add(p, "/system", &events.QueueItemQuarantined{
						Queue:     q.Name,
						TaskID:    item.TaskID,
						SessionID: item.SessionID,
						Attempt:   item.Attempts,
						Reason:    gone,
					})
				default:
					add(p, "/system", &events.QueueItemReturned{
						Queue:     q.Name,
						TaskID:    item.TaskID,
						SessionID: item.SessionID,
						Attempt:   item.Attempts,
						Reason:    gone,
					})
				}
			}
		}
	}
}

// try folds an event and reports whether it fit.
func try(t testing.TB, s *State, g given) bool {
	t.Helper()
	e, body := stored(t, g.event(s))
	_, err := s.Apply(s.Head().Sequence+1, e, events.BodyHash(body))
	return err == nil
}

// randomStory returns a story of at most n events that fit; a story that has deleted everything is shorter.
func randomStory(t testing.TB, seed uint64, n int) []given {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	s := New()
	story := []given{
		{by: admin, data: &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}},
		{by: orch, data: &events.ProjectCreated{ProjectID: "q", Name: "Beta"}, project: "q"},
	}
	for _, g := range story {
		apply(t, s, g)
	}
	have := map[string]int{} // by type
	for misses := 0; len(story) < n && misses < 200; misses++ {
		g := anything(r)
		if r.IntN(2) == 0 {
			if might, ok := likely(r, s, have); ok {
				g = might
			}
		}
		if try(t, s, g) {
			have[g.data.EventType()]++
			story = append(story, g)
			misses = 0
		}
	}
	return story
}

// The tests with random stories need stories that have every type.
func TestRandomStoriesHaveEveryType(t *testing.T) {
	have := map[string]int{}
	for seed := range uint64(80) {
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

// TaskViews shows tasks.
func (s *State) TaskViews(tasks iter.Seq[*Task]) []TaskView {
	views := []TaskView{}
	sums := NewSums(math.MaxUint64)
	for t := range tasks {
		v := s.ListedTask(t)
		sum := s.SumBelow(t.ID, sums)
		s.SumOn(sum, math.MaxUint64)
		v.Progress = sum.Progress()
		views = append(views, v)
	}
	return views
}

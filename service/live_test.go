package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/projections"
	"maestro/service/wire"
)

// live runs the live views of a world.
func (w *world) live() {
	w.Helper()
	w.Views.rest = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		w.Views.Run(ctx)
		close(ended)
	}()
	w.Cleanup(func() { cancel(); <-ended })
}

// liveClient keeps the views that it was sent, as a page does: it never folds.
type liveClient struct {
	t     *testing.T
	views map[string]string
	// at is the last position that it may resume at, seen the sequences of its frames since its last snapshot.
	at        Position
	seen      []uint64
	snapshots int
	events    map[uint64]string
}

func newLiveClient(t *testing.T) *liveClient {
	return &liveClient{t: t, views: map[string]string{}, events: map[uint64]string{}}
}

// take takes a message.
func (c *liveClient) take(m LiveMessage) {
	c.t.Helper()
	var body struct {
		Seq     uint64          `json:"seq"`
		Items   []wire.LiveView `json:"items"`
		Event   json.RawMessage `json:"event"`
		Changes []wire.LiveView `json:"changes"`
	}
	if len(m.Data) > 0 {
		if err := json.Unmarshal(m.Data, &body); err != nil {
			c.t.Fatalf("%s: %v", m.Data, err)
		}
	}
	switch m.Kind {
	case wire.LiveKindSnapshot:
		if m.Position != (Position{}) {
			c.t.Errorf("a part of a snapshot has the position %s", m.Position)
		}
	case wire.LiveKindFrame:
		if len(c.seen) > 0 && body.Seq <= c.seen[len(c.seen)-1] {
			c.t.Errorf("frame %d came after %d", body.Seq, c.seen[len(c.seen)-1])
		}
		c.seen = append(c.seen, body.Seq)
		c.events[body.Seq] = string(body.Event)
	}
	for _, x := range slices.Concat(body.Items, body.Changes) {
		if strings.HasSuffix(x.Kind, "_timeline") {
			continue
		}
		if key := x.Kind + " " + x.ID; string(x.Value) == "null" {
			delete(c.views, key)
		} else {
			c.views[key] = string(x.Value)
		}
	}
	if m.Position != (Position{}) {
		c.at = m.Position
	}
}

// liveAskedOf returns the request for what a filter selects, after a position.
func liveAskedOf(after Position, filter WatchFilter) *wire.LiveFilter {
	kinds := make([]string, len(filter.Kinds))
	for i, kind := range filter.Kinds {
		kinds[i] = string(kind)
	}
	asked := &wire.LiveFilter{
		ProjectID: filter.Project,
		Session:   filter.Session,
		Task:      filter.Task,
		Kinds:     strings.Join(kinds, ","),
	}
	if after.Sequence > 0 {
		asked.After = after.String()
	}
	return asked
}

// viewsAt returns what a reader with a filter has to have after a sequence, computed from the log alone.
func (w *world) viewsAt(sequence uint64, filter WatchFilter) map[string]string {
	w.Helper()
	p, err := w.Handler.NewProjection(context.Background(), sequence)
	if err != nil {
		w.Fatal(err)
	}
	defer p.Close()
	x := projections.NewViewIndex(p.State())
	views := map[string]string{}
	for key := range x.Keys(p.State()) {
		l := liveView(p.State(), x, key, nil, w.TemplateIn)
		if passes, left := filter.passes(&l); passes && !left && string(l.whole) != "null" {
			views[string(key.Kind)+" "+key.ID] = string(l.whole)
		}
	}
	return views
}

func (c *liveClient) has(want map[string]string, when string) {
	c.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := withoutWait(c.views[key]); got != withoutWait(want[key]) {
			c.t.Fatalf("%s: %s is\n%s\nwant\n%s", when, key, got, want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.views)) {
		if _, ok := want[key]; !ok {
			c.t.Fatalf("%s: it still has %s: %s", when, key, c.views[key])
		}
	}
}

// withoutWait leaves out how long a question has waited, which grows with time.
func withoutWait(view string) string {
	before, after, ok := strings.Cut(view, `"waited":`)
	if !ok {
		return view
	}
	return before + strings.TrimLeft(after, "0123456789")
}

// follow reads until the position reaches a sequence.
func (c *liveClient) follow(r *LiveReader, to uint64) {
	c.t.Helper()
	for c.at.Sequence < to || r.ready > 0 || r.snapshot {
		m, err := r.Next(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		c.take(m)
	}
}

// A reader that is cut off at random points, and comes again, gets each frame exactly once: after every cut it has the
// views as they are after its position.
func TestLiveReaderIsCutOff(t *testing.T) {
	w := newWorld(t)
	w.live()
	r := rand.New(rand.NewPCG(1, 2))
	story := newLiveStory(w)
	for range 30 {
		story.step(r)
	}
	project := story.projects[0]
	story.task = w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	story.session = w.make(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+story.task+`"]}`)
	for _, filter := range []WatchFilter{
		{},
		{Project: project},
		{Kinds: []projections.Kind{projections.KindTask, projections.KindQueueItem}},
		{Project: project, Kinds: []projections.Kind{projections.KindSession}},
		{Session: story.session},
		{Task: story.task},
		{Project: project, Session: story.session, Kinds: []projections.Kind{projections.KindTask}},
	} {
		client := newLiveClient(t)
		from := uint64(0)
		for cut := range 50 {
			reader, err := w.Live(t.Context(), w.admin(), liveAskedOf(client.at, filter))
			if err != nil {
				t.Fatal(err)
			}
			if reader.snapshot {
				client.snapshots++
			}
			for range r.IntN(4) {
				story.step(r)
			}
			to := w.Head()
			if r.IntN(3) > 0 && !reader.snapshot {
				to -= uint64(r.IntN(int(to - client.at.Sequence + 1)))
			}
			client.follow(reader, to)
			if from == 0 {
				from = client.at.Sequence
			}
			reader.Close()
			client.has(w.viewsAt(client.at.Sequence, filter), fmt.Sprintf("%+v, cut %d at %s", filter, cut, client.at))
		}
		if client.snapshots != 1 {
			t.Errorf("%+v: %d snapshots", filter, client.snapshots)
		}
		if len(filter.Kinds) > 0 || filter.Project != "" || filter.Session != "" || filter.Task != "" {
			continue
		}
		for at := from + 1; at <= client.at.Sequence; at++ {
			if stored := w.log.messages[at-1].Body; client.events[at] != string(stored) {
				t.Fatalf("frame %d has the event %s, want %s", at, client.events[at], stored)
			}
		}
	}
}

// A reader whose frames are not kept any more gets them from the log, and one of another log gets a snapshot.
func TestLiveHistory(t *testing.T) {
	w := newWorld(t)
	w.live()
	r := rand.New(rand.NewPCG(3, 4))
	story := newLiveStory(w)
	for range 20 {
		story.step(r)
	}
	client := newLiveClient(t)
	reader, err := w.Live(t.Context(), w.admin(), &wire.LiveFilter{})
	if err != nil {
		t.Fatal(err)
	}
	client.follow(reader, w.Head())
	reader.Close()
	for range 60 {
		story.step(r)
	}
	w.Views.mu.Lock()
	for w.Views.next-w.Views.first > 3 && w.Views.state != nil {
		w.Views.drop()
	}
	w.Views.mu.Unlock()
	if reader, err = w.Live(t.Context(), w.admin(), liveAskedOf(client.at, WatchFilter{})); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		story.step(r)
	}
	client.follow(reader, w.Head())
	client.has(w.viewsAt(w.Head(), WatchFilter{}), "after history")
	head := w.Head()
	for w.Head() == head {
		story.step(r)
	}
	client.follow(reader, w.Head())
	if reader.history != nil {
		t.Error("it still reads history")
	}
	client.has(w.viewsAt(w.Head(), WatchFilter{}), "after history ended")
	reader.Close()

	other := client.at
	other.Body = "01234567"
	if reader, err = w.Live(t.Context(), w.admin(), liveAskedOf(other, WatchFilter{})); err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if !reader.snapshot {
		t.Error("a position of another log is resumed")
	}
}

// A reading of old frames that ends does so also if the last of them show its reader nothing.
func TestLiveHistoryEnds(t *testing.T) {
	w := newWorld(t)
	w.live()
	w.Views.rest = time.Hour
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	create := func() string {
		return w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	}
	task := create()
	create()
	create()
	reader, err := w.Live(t.Context(), w.admin(), &wire.LiveFilter{Task: task, After: "0", Follow: "false"})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reader.movedAt = time.Now() // it was told its position just now
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	frames := 0
	for {
		m, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it does not end: %v", err)
		}
		if m.Kind == wire.LiveKindFrame {
			frames++
		}
	}
	if frames != 1 || reader.Position().Sequence != w.Head() {
		t.Errorf("it shows %d frames, and ends at %s", frames, reader.Position())
	}
}

// liveStory changes a world at random.
type liveStory struct {
	w                                 *world
	n                                 int
	projects, tasks, sessions, inputs []string
	callers                           map[string]*Caller
	// session gets tasks and loses them, above all task; it is not killed.
	session, task string
}

func newLiveStory(w *world) *liveStory {
	s := &liveStory{w: w, callers: map[string]*Caller{}}
	for range 2 {
		s.projects = append(s.projects, w.make(w.admin(), "project:create", `{"name":"P"}`))
	}
	for _, p := range s.projects {
		w.do(w.admin(), "queue:create", `{"project":"`+p+`","queue":"q"}`)
		s.tasks = append(s.tasks, w.make(w.admin(), "task:create", `{"project":"`+p+`","title":"T"}`))
	}
	return s
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// step executes a command; a refusal changes nothing.
func (s *liveStory) step(r *rand.Rand) {
	w := s.w
	s.n++
	key := fmt.Sprint("story ", s.n)
	project, task := pick(r, s.projects), pick(r, s.tasks)
	by, id, body := w.admin(), "", ""
	if len(s.sessions) > 0 && r.IntN(2) == 0 {
		session := pick(r, s.sessions)
		by = s.callers[session]
		steps := [][2]string{
			{"report:progress", fmt.Sprintf(`{"message":"m","taskIds":[%q]}`, task)},
			{"report:complete", fmt.Sprintf(`{"message":"m","taskIds":[%q]}`, task)},
			{"report:blocked", fmt.Sprintf(`{"message":"m","taskIds":[%q]}`, task)},
			{"report:needs-input", fmt.Sprintf(`{"message":"Which %d?","taskIds":[%q]}`, s.n, task)},
			{"queue:start", `{}`},
			{"queue:complete", `{}`},
			{"queue:skip", `{"reason":"no"}`},
			{"session:complete", `{}`},
		}
		step := steps[r.IntN(len(steps))]
		id, body = step[0], step[1]
	} else {
		steps := [][2]string{
			{"task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project, task)},
			{"task:create", fmt.Sprintf(`{"project":%q,"title":"T","dependencies":[%q]}`, project, task)},
			{"task:update", fmt.Sprintf(`{"taskId":%q,"title":"T %d"}`, task, s.n)},
			{"task:complete", fmt.Sprintf(`{"taskId":%q,"force":true}`, task)},
			{"task:reopen", fmt.Sprintf(`{"taskId":%q,"reason":"r","force":true}`, task)},
			{"task:block", fmt.Sprintf(`{"taskId":%q,"reason":"r"}`, task)},
			{"queue:push", fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, project, task)},
			{"queue:requeue", fmt.Sprintf(`{"queue":"q","taskId":%q}`, task)},
			{"session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q],"env":{"A":"b"}}`, project, task)},
			{"session:spawn", fmt.Sprintf(`{"project":%q,"strategy":"queue","queue":"q"}`, project)},
		}
		if len(s.sessions) > 0 {
			session := pick(r, s.sessions)
			steps = append(steps,
				[2]string{"session:kill", fmt.Sprintf(`{"sessionId":%q}`, session)},
				[2]string{"session:message", fmt.Sprintf(`{"sessionId":%q,"text":"Go on"}`, session)},
				[2]string{"session:update", fmt.Sprintf(`{"sessionId":%q,"name":"N %d"}`, session, s.n)},
				[2]string{"session:delete", fmt.Sprintf(`{"sessionId":%q}`, session)})
		}
		if len(s.inputs) > 0 {
			answer := fmt.Sprintf(`{"inputId":%q,"answer":"a"}`, pick(r, s.inputs))
			steps = append(steps, [2]string{"input:answer", answer})
		}
		if r.IntN(15) == 0 && len(s.tasks) > 5 {
			steps = [][2]string{{"task:delete", fmt.Sprintf(`{"taskId":%q}`, task)}}
		}
		if s.session != "" && r.IntN(3) == 0 {
			steps = [][2]string{
				{"session:link", fmt.Sprintf(`{"sessionId":%q,"taskId":%q}`, s.session, task)},
				{"session:unlink", fmt.Sprintf(`{"sessionId":%q,"taskId":%q}`, s.session, task)},
				{"session:link", fmt.Sprintf(`{"sessionId":%q,"taskId":%q}`, s.session, s.task)},
				{"session:unlink", fmt.Sprintf(`{"sessionId":%q,"taskId":%q}`, s.session, s.task)},
				{"task:update", fmt.Sprintf(`{"taskId":%q,"title":"T %d"}`, s.task, s.n)},
				{"task:reopen", fmt.Sprintf(`{"taskId":%q,"reason":"r","force":true}`, s.task)},
			}
		}
		step := steps[r.IntN(len(steps))]
		id, body = step[0], step[1]
	}
	done, err := w.try(by, id, body, key)
	var refusal error
	if err != nil {
		refusal = err
	}
	if refusal != nil || done.Data == nil {
		return
	}
	_, made := done.Data.Aggregate()
	switch id {
	case "task:create":
		s.tasks = append(s.tasks, made)
	case "session:spawn":
		s.sessions = append(s.sessions, made)
		s.callers[made] = w.caller(done.Token)
	case "report:needs-input":
		var said struct {
			InputID string `json:"inputId"`
		}
		b, _ := json.Marshal(done.Data)
		if json.Unmarshal(b, &said) == nil && said.InputID != "" {
			s.inputs = append(s.inputs, said.InputID)
		}
	}
}

package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// watching starts a watch.
func (w *world) watching(c *Caller, after Position, filter WatchFilter) *Watch {
	w.Helper()
	watch, err := w.Watch(w.Context(), c, after, filter)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watch.Close)
	return watch
}

// seen returns the frames of a watch up to the present head, each as "<sequence> <type> <kinds of changes>".
func (w *world) seen(watch *Watch) (frames []string) {
	w.Helper()
	for _, frame := range w.frames(watch) {
		what := "withheld"
		if frame.Event != nil {
			what = strings.TrimSuffix(strings.TrimPrefix(frame.Event.Data.EventType(), "maestro."), ".v1")
		}
		var kinds []string
		for _, change := range frame.Changes {
			kinds = append(kinds, string(change.Kind))
		}
		frames = append(frames, strings.TrimSpace(what+" "+strings.Join(kinds, ",")))
	}
	return frames
}

// frames returns the frames of a watch up to the present head.
func (w *world) frames(watch *Watch) (frames []Frame) {
	w.Helper()
	for watch.Position().Sequence < w.Head() {
		frame, err := nextOf(watch, w.Head())
		if err != nil {
			w.Fatal(err)
		}
		if frame == nil {
			break
		}
		frames = append(frames, *frame)
	}
	return frames
}

// nextOf returns the next frame, or nil if the watch reaches a sequence without another frame.
func nextOf(watch *Watch, to uint64) (*Frame, error) {
	for len(watch.frames) == 0 {
		if watch.at.Sequence >= to {
			return nil, nil
		}
		if err := watch.read(context.Background()); err != nil {
			return nil, err
		}
	}
	frame, err := watch.Next(context.Background())
	return &frame, err
}

// A watch gives every commit once, from any position on, while others write; its changes lead to the same state.
func TestWatchHasNoGapAndNoDuplicate(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"Alpha"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	for i := range 200 {
		w.do(w.admin(), "task:update", fmt.Sprintf(`{"taskId":%q,"title":"before %d"}`, task, i))
	}
	const writers, each = 4, 100
	end := w.Head() + writers*each
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				body := fmt.Sprintf(`{"taskId":%q,"title":"T %d %d"}`, task, i, j)
				if _, err := w.try(w.admin(), "task:update", body, fmt.Sprint(i, " ", j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 4 {
		all.Go(func() {
			after := uint64(i * 60)
			watch, err := w.Watch(context.Background(), w.admin(), Position{Sequence: after}, WatchFilter{})
			if err != nil {
				t.Error(err)
				return
			}
			defer watch.Close()
			title := ""
			for at := after + 1; at <= end; at++ {
				frame, err := watch.Next(context.Background())
				if err != nil || frame.Sequence != at {
					t.Errorf("frame %d instead of %d: %v", frame.Sequence, at, err)
					return
				}
				for _, change := range frame.Changes {
					x, ok := change.After.(*projections.Task)
					if before, _ := change.Before.(*projections.Task); ok && before != nil {
						if title != "" && before.Title != title {
							t.Errorf("%d: %q was %q before", at, before.Title, title)
						}
						title = x.Title
					}
				}
			}
			var now string
			w.Handler.View(func(state *projections.State) { now = state.Task(task).Title })
			if now != title {
				t.Errorf("the task is %q, but the watch says %q", now, title)
			}
		})
	}
	all.Wait()
}

// A watch continues at its position after the server was killed; a position of another log is refused.
func TestWatchGoesOnAfterAKill(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"Alpha"}`)
	watch := w.watching(w.admin(), Position{}, WatchFilter{})
	if got := w.seen(watch); !slices.Equal(got, []string{"project.created project"}) {
		t.Errorf("%q", got)
	}
	at := watch.Position()
	if read, err := ParsePosition(at.String()); err != nil || read != at || len(at.String()) != len("1.12345678") {
		t.Errorf("%v, %v", read, err)
	}
	w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"missed"}`)
	again := worldOn(t, w.log)
	again.make(again.admin(), "task:create", `{"project":"`+project+`","title":"after the kill"}`)
	watch = again.watching(again.admin(), at, WatchFilter{})
	for _, title := range []string{"missed", "after the kill"} {
		frame, err := watch.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if created, ok := frame.Event.Data.(*events.TaskCreated); !ok || created.Title != title {
			t.Errorf("%v is not %s", frame.Event.Data, title)
		}
	}
	other := newWorld(t)
	other.make(other.admin(), "project:create", `{"name":"Beta"}`)
	for _, after := range []Position{at, {Sequence: 2}, {Sequence: 9, Body: "00000000"}} {
		var restart *RestartError
		if _, err := other.Watch(t.Context(), other.admin(), after, WatchFilter{}); !errors.As(err, &restart) ||
			!strings.Contains(err.Error(), "start again from a snapshot") {
			t.Errorf("%s in another log: %v", after, err)
		}
	}
	for _, text := range []string{"x", "1.", "1.1234567", "1.1234567X", "0.12345678", "-1", "1.123456789"} {
		if _, err := ParsePosition(text); err == nil {
			t.Errorf("%q is accepted as a position", text)
		}
	}
}

// There is no gap between a snapshot and the watch after it, even while others write.
func TestWatchNow(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"Alpha"}`)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 200 {
			body := fmt.Sprintf(`{"project":%q,"title":"T %d"}`, project, i)
			if _, err := w.try(w.admin(), "task:create", body, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		all.Go(func() {
			tasks := 0
			watch, err := w.WatchNow(context.Background(), w.admin(), WatchFilter{}, func(v View) error {
				tasks = 0
				for range v.Tasks(project) {
					tasks++
				}
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer watch.Close()
			for tasks < 200 {
				frame, err := watch.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				tasks++
				if got := int(frame.Sequence) - 1; got != tasks {
					t.Errorf("task %d comes after %d", got, tasks-1)
					return
				}
			}
		})
	}
	all.Wait()
}

// stage has two projects, an orchestrator and its worker in the first, and a reader of each.
type stage struct {
	*world
	alpha, beta, task    string
	lead, worker         *Caller
	readAlpha, readBeta  *Caller
	leadName, workerName string
}

func newStage(t *testing.T) *stage {
	s := &stage{world: newWorld(t)}
	s.alpha = s.make(s.admin(), "project:create", `{"name":"Alpha"}`)
	s.beta = s.make(s.admin(), "project:create", `{"name":"Beta"}`)
	s.task = s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
	lead := s.do(s.admin(), "session:spawn", `{"project":"`+s.alpha+`","role":"orchestrator","taskIds":["`+s.task+`"]}`)
	s.lead = s.caller(lead.Token)
	s.leadName = s.lead.By.Name
	worker := s.do(s.lead, "session:spawn", `{"taskIds":["`+s.task+`"]}`)
	s.worker = s.caller(worker.Token)
	s.workerName = s.worker.By.Name
	s.readAlpha = s.token(`{"name":"alpha","kind":"read-only","projectIds":["` + s.alpha + `"]}`)
	s.readBeta = s.token(`{"name":"beta","kind":"read-only","projectIds":["` + s.beta + `"]}`)
	return s
}

// A watch gives exactly what its filter selects.
func TestWatchFilters(t *testing.T) {
	s := newStage(t)
	after := Position{Sequence: s.Head()}
	s.make(s.admin(), "task:create", `{"project":"`+s.beta+`","title":"elsewhere"}`)
	s.do(s.worker, "report:progress", `{"message":"m","taskIds":["`+s.task+`"]}`)
	s.do(s.worker, "session:note", `{"message":"n"}`)
	s.do(s.lead, "task:complete", `{"taskId":"`+s.task+`"}`)
	s.do(s.admin(), "token:create", `{"name":"later","kind":"auditor"}`)
	for name, c := range map[string]struct {
		filter WatchFilter
		want   []string
	}{
		"none": {WatchFilter{}, []string{
			"task.created project,task,task_timeline",
			"session.reported task,session_timeline,task_timeline,session",
			"session.noted session_timeline,session",
			"task.status_changed task,task_timeline,session_timeline,session",
			"token.created token",
		}},
		"a project": {WatchFilter{Project: s.beta}, []string{"task.created project,task,task_timeline"}},
		"a session": {WatchFilter{Session: s.workerName}, []string{
			"session.reported task,session_timeline,task_timeline,session",
			"session.noted session_timeline,session",
			"task.status_changed task,task_timeline,session_timeline,session", // it is told
		}},
		"kinds": {WatchFilter{Kinds: []projections.Kind{projections.KindTask, projections.KindToken}}, []string{
			"task.created task", "session.reported task", "task.status_changed task", "token.created token",
		}},
		"kinds of a session": {
			WatchFilter{Session: s.workerName, Kinds: []projections.Kind{projections.KindTask}},
			[]string{"session.reported task", "task.status_changed task"},
		},
	} {
		got := s.seen(s.watching(s.admin(), after, c.filter))
		for i := range got { // the order within an event is that of the projections
			got[i] = inOrder(got[i])
		}
		for i := range c.want {
			c.want[i] = inOrder(c.want[i])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, not\n%q", name, got, c.want)
		}
	}
	watch := s.watching(s.admin(), after, WatchFilter{Kinds: []projections.Kind{projections.KindInput}})
	if got := s.seen(watch); got != nil || watch.Position().Sequence != s.Head() {
		t.Errorf("%q, and the position is %s of %d", got, watch.Position(), s.Head())
	}
}

func inOrder(frame string) string {
	what, kinds, _ := strings.Cut(frame, " ")
	list := strings.Split(kinds, ",")
	slices.Sort(list)
	return what + " " + strings.Join(slices.Compact(list), ",")
}

// A caller gets only what it may read: the events and changes of its projects, without the environments of sessions.
func TestWatchGivesWhatTheCallerMayRead(t *testing.T) {
	s := newStage(t)
	after := Position{Sequence: s.Head()}
	body := `{"project":"` + s.alpha + `","sessionId":"sess_env","name":"E","env":{"KEY":"secret"}}`
	s.do(s.admin(), "session:register", body)
	s.do(s.admin(), "session:update", `{"sessionId":"sess_env","env":{"KEY":"secret too"}}`)
	s.make(s.admin(), "task:create", `{"project":"`+s.beta+`","title":"elsewhere"}`)
	s.do(s.admin(), "token:create", `{"name":"later","kind":"auditor"}`)
	for name, c := range map[string]struct {
		caller *Caller
		frames int
		env    bool
	}{
		"the admin":        {s.admin(), 4, true},
		"a reader":         {s.readAlpha, 2, false},
		"another":          {s.readBeta, 1, false},
		"the orchestrator": {s.lead, 2, false},
	} {
		watch := s.watching(c.caller, after, WatchFilter{})
		n, env := 0, false
		for {
			frame, err := nextOf(watch, s.Head())
			if err != nil {
				t.Fatal(err)
			}
			if frame == nil {
				break
			}
			n++
			text, err := json.Marshal(frame)
			if err != nil {
				t.Fatal(err)
			}
			env = env || strings.Contains(string(text), "secret")
		}
		if n != c.frames || env != c.env {
			t.Errorf("%s gets %d frames, not %d; the environment: %v", name, n, c.frames, env)
		}
	}
	var kept string
	s.Handler.View(func(state *projections.State) { kept = state.Session("sess_env").Env["KEY"] })
	if kept != "secret too" {
		t.Errorf("hiding the environment changed it to %q", kept)
	}
}

// If an event of one project changes another, callers that may read only the other get the change without the event.
func TestWatchWithholdsTheEventOfAnotherProject(t *testing.T) {
	s := newStage(t)
	made := s.make(s.lead, "project:create", `{"name":"Made"}`)
	task := s.make(s.lead, "task:create", `{"project":"`+made+`","title":"T"}`)
	after := Position{Sequence: s.Head()}
	s.do(s.lead, "task:complete", `{"taskId":"`+task+`"}`)
	for name, c := range map[string]struct {
		caller *Caller
		want   []string
	}{
		"a reader of the orchestrator's project": {s.readAlpha, []string{"withheld session,session_timeline"}},
		"a reader of neither":                    {s.readBeta, nil},
		"the orchestrator": {s.lead, []string{
			"task.status_changed session,session_timeline,task,task_timeline",
		}},
	} {
		got := s.seen(s.watching(c.caller, after, WatchFilter{}))
		for i := range got {
			got[i] = inOrder(got[i])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

func TestWatchRefusals(t *testing.T) {
	s := newStage(t)
	var refusal *commands.Refusal
	if _, err := s.Watch(t.Context(), s.worker, Position{}, WatchFilter{}); !errors.As(err, &refusal) {
		t.Errorf("a worker: %v", err)
	}
	_, err := s.Watch(t.Context(), s.readBeta, Position{}, WatchFilter{Project: s.alpha})
	if !errors.As(err, &refusal) {
		t.Errorf("another project: %v", err)
	}
	var problem *Problem
	_, err = s.Watch(t.Context(), s.admin(), Position{}, WatchFilter{Project: "proj_none"})
	if !errors.As(err, &problem) || problem.Kind != KindNotFound {
		t.Errorf("no project: %v", err)
	}
	s.do(s.admin(), "session:kill", `{"sessionId":"`+s.leadName+`"}`)
	if _, err := s.Watch(t.Context(), s.lead, Position{}, WatchFilter{}); !errors.As(err, &refusal) {
		t.Errorf("a session that has ended: %v", err)
	}
}

// A watch ends at once when its credential, its session or the server ends, even while it waits.
func TestWatchEndsWithTheCredential(t *testing.T) {
	refused := func(err error) bool { return errors.As(err, new(*commands.Refusal)) }
	problem := func(code string) func(error) bool {
		return func(err error) bool {
			var p *Problem
			return errors.As(err, &p) && p.Code == code
		}
	}
	for name, c := range map[string]struct {
		caller func(s *stage) *Caller
		end    func(s *stage, stop func())
		after  time.Duration
		want   func(error) bool
	}{
		"a token that is revoked": {
			func(s *stage) *Caller { return s.readAlpha },
			func(s *stage, _ func()) { s.do(s.admin(), "token:revoke", `{"name":"alpha"}`) },
			0, problem("UNAUTHENTICATED"),
		},
		"a token that expires": {
			func(s *stage) *Caller { return s.token(`{"name":"short","kind":"auditor","expiresIn":1000}`) },
			func(*stage, func()) {}, time.Second, problem("UNAUTHENTICATED"),
		},
		"a session that ends": {
			func(s *stage) *Caller { return s.lead },
			func(s *stage, _ func()) { s.do(s.admin(), "session:kill", `{"sessionId":"`+s.leadName+`"}`) },
			0, refused,
		},
		"a server that stops": {
			func(s *stage) *Caller { return s.admin() },
			func(_ *stage, stop func()) { stop() },
			0, problem(CodeStopping),
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			stopping, stop := context.WithCancel(t.Context())
			defer stop()
			s.Stopping = stopping
			watch := s.watching(c.caller(s), Position{Sequence: s.Head()}, WatchFilter{Session: s.workerName})
			began, ended := time.Now(), make(chan error)
			go func() {
				_, err := watch.Next(context.Background())
				ended <- err
			}()
			synctest.Wait()
			c.end(s, stop)
			if err := <-ended; !c.want(err) || time.Since(began) != c.after {
				t.Errorf("%s: %v, after %s", name, err, time.Since(began))
			}
			watch.Close()
			watch.Close()
		})
	}
}

// A reader that is too slow is told to start again; the context of Next ends Next only.
func TestWatchTellsASlowReaderToStartAgain(t *testing.T) {
	s := newStage(t)
	watch := s.watching(s.admin(), Position{Sequence: s.Head()}, WatchFilter{})
	at := watch.Position()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := watch.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for i := range 4100 { // more than the feed keeps
		s.do(s.admin(), "task:update", fmt.Sprintf(`{"taskId":%q,"title":"T %d"}`, s.task, i))
	}
	_, err := watch.Next(t.Context())
	var restart *RestartError
	if !errors.As(err, &restart) || restart.After != at {
		t.Errorf("%v", err)
	}
	again := s.watching(s.admin(), at, WatchFilter{})
	frame, err := again.Next(t.Context())
	if err != nil || frame.Sequence != at.Sequence+1 {
		t.Errorf("started again: frame %d, %v", frame.Sequence, err)
	}
}

// A write costs the same number of allocations with a hundred watches as with none.
func TestWatchersCostAWriteNothing(t *testing.T) {
	s := newStage(t)
	i := 0
	cost := func() float64 {
		return testing.AllocsPerRun(100, func() {
			i++
			s.do(s.admin(), "task:update", fmt.Sprintf(`{"taskId":%q,"title":"T %d"}`, s.task, i))
		})
	}
	least := func() float64 { return min(cost(), cost(), cost()) } // what else allocates does not do so every time
	none := least()
	for range 100 {
		s.watching(s.admin(), Position{Sequence: s.Head()}, WatchFilter{})
	}
	hundred := least()
	t.Logf("allocations of a write: %v without a watcher, %v with 100", none, hundred)
	if hundred > none+6 {
		t.Errorf("a write allocates %v times without a watcher, %v with 100", none, hundred)
	}
}

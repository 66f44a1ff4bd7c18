package projections

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/events"
)

// A report never moves a task's own status, whatever its kind and whatever the state
// (docs/spec/000-command-permissions.md, "Report vs Task Commands"; docs/spec/003-manifest-schema.md, "Two-Status
// Model").
func TestReportNeverMovesAStatus(t *testing.T) {
	reports := 0
	for seed := range uint64(50) {
		s := New()
		for _, g := range randomStory(t, seed, 120) {
			before := map[string]*Task{}
			for _, id := range poolTasks {
				before[id] = s.tasks.get(id)
			}
			apply(t, s, g)
			if _, ok := g.data.(*events.SessionReported); !ok {
				continue
			}
			reports++
			for _, id := range poolTasks {
				was, is := before[id], s.tasks.get(id)
				if was == nil {
					continue
				}
				if was.Status != is.Status || was.StartedAt != is.StartedAt || was.CompletedAt != is.CompletedAt ||
					was.TaskFields != is.TaskFields || was.Deleted != is.Deleted {
					t.Fatalf("seed %d: %+v moved %s from %+v to %+v", seed, g.data, id, *was, *is)
				}
			}
		}
	}
	if reports < 100 {
		t.Errorf("only %d reports were tried", reports)
	}
}

// A committed overlay gives byte for byte the same state as applying the events directly, and a dropped one leaves no
// trace.
func TestOverlay(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		direct, base := New(), New()
		overlay := base.Overlay()
		story := randomStory(t, seed, 80)
		for len(story) > 0 {
			before, shown := encode(t, base), show(t, base)
			for range r.IntN(3) { // decided, and dropped
				for range r.IntN(6) {
					try(t, overlay, anything(r))
				}
				overlay.Drop()
				if encode(t, base) != before || show(t, overlay) != shown {
					t.Fatalf("seed %d: a dropped overlay left a trace", seed)
				}
			}
			n := min(1+r.IntN(8), len(story))
			for _, g := range story[:n] {
				apply(t, overlay, g)
				apply(t, direct, g)
				if show(t, overlay) != show(t, direct) {
					t.Fatalf("seed %d: the overlay shows another state after %s", seed, g.data.EventType())
				}
			}
			story = story[n:]
			if encode(t, base) != before || show(t, base) != shown {
				t.Fatalf("seed %d: the overlay changed the state before its commit", seed)
			}
			overlay.Commit()
			if encode(t, base) != encode(t, direct) || show(t, base) != show(t, direct) || show(t, overlay) != show(t,
				direct) {
				t.Fatalf("seed %d: committed and directly applied differ at %d", seed, direct.Head().Sequence)
			}
		}
		for sequence := uint64(1); sequence <= base.Head().Sequence; sequence++ {
			id, ok := base.EventID(sequence)
			if at, known := overlay.Accepted(id); !ok || !known || at != sequence {
				t.Fatalf("seed %d: event %d is not known by its id", seed, sequence)
			}
		}
	}
}

// What is applied after Seal is not part of the next Commit, but is shown by the overlay. Drop discards both.
func TestSealedBatches(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		direct, base := New(), New()
		overlay := base.Overlay()
		story := randomStory(t, seed, 80)
		var want, shown string // of the sealed batch
		for at := 0; at < len(story); {
			for range min(1+r.IntN(5), len(story)-at) {
				apply(t, overlay, story[at])
				apply(t, direct, story[at])
				at++
			}
			if show(t, overlay) != show(t, direct) {
				t.Fatalf("seed %d: the overlay shows another state after event %d", seed, at)
			}
			switch {
			case want == "":
				want, shown = encode(t, direct), show(t, direct)
				overlay.Seal()
			case r.IntN(3) > 0:
				overlay.Commit()
				if encode(t, base) != want || show(t, base) != shown || show(t, overlay) != show(t, direct) {
					t.Fatalf("seed %d: the commit of a sealed batch differs at %d", seed, base.Head().Sequence)
				}
				want = ""
			default:
				overlay.Drop()
				at, direct, want = int(base.Head().Sequence), New(), "" //nolint:gosec // at most 80
				for _, g := range story[:at] {
					apply(t, direct, g)
				}
				if encode(t, base) != encode(t, direct) || show(t, overlay) != show(t, direct) {
					t.Fatalf("seed %d: a dropped batch left a trace at %d", seed, at)
				}
			}
		}
	}
}

// Values of the committed state may be kept and read while an overlay continues, is dropped and is committed. Run with
// -race.
func TestCommittedValuesMayBeKept(t *testing.T) {
	story := randomStory(t, 7, 400)
	base := New()
	overlay := base.Overlay()
	var mu sync.RWMutex
	var readers sync.WaitGroup
	done := make(chan struct{})
	type kept struct {
		timeline Timeline
		text     string
	}
	for range 3 {
		readers.Go(func() {
			var all []kept
			for {
				mu.RLock()
				for _, id := range poolTasks {
					all = append(all, kept{timeline: base.TaskTimeline(id)},
						kept{timeline: base.SessionTimeline(poolSessions[len(all)%len(poolSessions)])})
				}
				image := base.Image()
				mu.RUnlock()
				if _, err := image.Encode(); err != nil {
					t.Error(err)
				}
				for i := range all {
					text := fmt.Sprint(all[i].timeline)
					if all[i].text == "" {
						all[i].text = text
					}
					if all[i].text != text {
						t.Errorf("a kept timeline changed from\n%s\nto\n%s", all[i].text, text)
						return
					}
				}
				all = all[max(0, len(all)-100):]
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(7, 7))
	for _, g := range story {
		for range 3 {
			try(t, overlay, anything(r))
		}
		overlay.Drop()
		apply(t, overlay, g)
		mu.Lock()
		overlay.Commit()
		mu.Unlock()
	}
	close(done)
	readers.Wait()
}

// The changes of an event turn the old state into the new one and back. No value changes after it was created.
func TestChanges(t *testing.T) {
	type key struct {
		kind Kind
		id   string
	}
	text := func(value any) string {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for seed := range uint64(20) {
		s := New()
		values := map[key]any{}
		lines := map[key][]*Entry{}
		frozen := map[any]string{}
		var undo []Change
		for _, g := range randomStory(t, seed, 100) {
			for _, c := range apply(t, s, g) {
				k := key{c.Kind, c.ID}
				undo = append(undo, c)
				frozen[c.After] = text(c.After)
				switch c.Kind {
				case KindSessionTimeline, KindTaskTimeline:
					if c.Before != nil {
						t.Fatalf("an entry has something before it: %+v", c)
					}
					lines[k] = append(lines[k], c.After.(*Entry))
				case KindProject, KindTask, KindSession, KindQueue, KindQueueItem, KindInput, KindToken, KindTemplate,
					KindWebhook:
					was, known := values[k]
					if isNil(c.Before) == known || known && was != c.Before {
						t.Fatalf("seed %d, %s: the change of %v begins with %v, but the value was %v", seed,
							g.data.EventType(), k, c.Before, was)
					}
					values[k] = c.After
				}
			}
		}
		for _, id := range poolTasks {
			if got, ok := values[key{KindTask, id}].(*Task); ok && got != s.tasks.get(id) || !ok &&
				s.tasks.get(id) != nil {
				t.Fatalf("seed %d: the changes do not lead to task %s", seed, id)
			}
			if text(lines[key{KindTaskTimeline, id}]) != text(taskEntries(s, id)) {
				t.Fatalf("seed %d: the changes do not lead to the timeline of %s", seed, id)
			}
		}
		for _, id := range poolSessions {
			if got, ok := values[key{KindSession, id}].(*Session); ok && got != s.sessions.get(id) || !ok &&
				s.sessions.get(id) != nil {
				t.Fatalf("seed %d: the changes do not lead to session %s", seed, id)
			}
			if text(lines[key{KindSessionTimeline, id}]) != text(sessionEntries(s, id)) {
				t.Fatalf("seed %d: the changes do not lead to the timeline of %s", seed, id)
			}
		}
		for _, id := range poolProjects {
			if got, ok := values[key{KindProject, id}].(*Project); ok && got != s.projects.get(id) || !ok &&
				s.projects.get(id) != nil {
				t.Fatalf("seed %d: the changes do not lead to project %s", seed, id)
			}
		}
		for k, value := range values {
			is := map[Kind]any{
				KindQueue: s.queues.get(k.id), KindQueueItem: s.items.get(k.id), KindInput: s.inputs.get(k.id),
				KindToken:    s.tokens.get(k.id),
				KindTemplate: s.templates.get(k.id),
				KindWebhook:  s.webhooks.get(k.id),
			}[k.kind]
			if is != nil && is != value {
				t.Fatalf("seed %d: the changes do not lead to %v", seed, k)
			}
		}
		for value, was := range frozen {
			if is := text(value); is != was {
				t.Fatalf("seed %d: a value changed after its creation, from\n%s\nto\n%s", seed, was, is)
			}
		}
		for i := len(undo) - 1; i >= 0; i-- {
			if c := undo[i]; isNil(c.Before) {
				delete(values, key{c.Kind, c.ID})
			} else {
				values[key{c.Kind, c.ID}] = c.Before
			}
		}
		if len(values) != 0 {
			t.Fatalf("seed %d: after undoing everything there is %v", seed, values)
		}
	}
}

func isNil(value any) bool {
	switch v := value.(type) {
	case *Project:
		return v == nil
	case *Task:
		return v == nil
	case *Session:
		return v == nil
	case *Queue:
		return v == nil
	case *Item:
		return v == nil
	case *Input:
		return v == nil
	case *Token:
		return v == nil
	case *Template:
		return v == nil
	case *Webhook:
		return v == nil
	}
	return value == nil
}

// An event that contradicts the state, or is not the next in the chain, stops the fold and changes nothing.
func TestApplyRefuses(t *testing.T) {
	begun := []given{
		project(), task("t1"), spawn("w", "t1"), task("t2"), by(admin, &events.TaskDeleted{TaskID: "t2"}),
		spawn("x", "t1"), by(admin, &events.SessionDeleted{SessionID: "x"}),
	}
	for _, c := range []struct {
		name string
		data events.Data
		says string
	}{
		{"a project again", &events.ProjectCreated{ProjectID: "p"}, `creates the project "p", which exists`},
		{"no such project", &events.ProjectUpdated{ProjectID: "none"}, `project "none", which does not exist`},
		{"deleting no project", &events.ProjectDeleted{ProjectID: "none"}, `project "none"`},
		{"a task again", &events.TaskCreated{TaskID: "t1"}, `creates the task "t1"`},
		{"a deleted task again", &events.TaskCreated{TaskID: "t2"}, `creates the task "t2"`},
		{"below no task", &events.TaskCreated{TaskID: "t9", ParentID: "none"}, `task "none"`},
		{"updating no task", &events.TaskUpdated{TaskID: "t2"}, `task "t2", which does not exist`},
		{"moving no task", &events.TaskStatusChanged{TaskID: "none"}, `task "none"`},
		{"deleting no task", &events.TaskDeleted{TaskID: "none"}, `task "none"`},
		{"a session again", &events.SessionSpawned{SessionID: "w"}, `creates the session "w"`},
		{"a deleted session again", &events.SessionSpawned{SessionID: "x"}, `creates the session "x"`},
		{
			"a session with no task", &events.SessionSpawned{SessionID: "s", TaskIDs: []string{"t1", "none"}},
			`task "none"`,
		},
		{"registering no session", &events.SessionRegistered{SessionID: "none"}, `session "none"`},
		{
			"a registered session again", &events.SessionRegistered{SessionID: "w", Created: &events.SessionCreated{}},
			`creates the session "w"`,
		},
		{"updating no session", &events.SessionUpdated{SessionID: "x"}, `session "x"`},
		{"completing no session", &events.SessionCompleted{SessionID: "none"}, `session "none"`},
		{"killing no session", &events.SessionKilled{SessionID: "none"}, `session "none"`},
		{"deleting no session", &events.SessionDeleted{SessionID: "x"}, `session "x"`},
		{"a report of no session", &events.SessionReported{SessionID: "none"}, `session "none"`},
		{
			"a report on no task", &events.SessionReported{SessionID: "w", TaskIDs: []string{"t1", "none"}},
			`task "none"`,
		},
		{"a note on no session", &events.SessionNoted{SessionID: "none"}, `session "none"`},
		{"a file of no session", &events.SessionFileTracked{SessionID: "none"}, `session "none"`},
		{"linking no session", &events.SessionTaskLinked{SessionID: "none", TaskID: "t1"}, `session "none"`},
		{"linking no task", &events.SessionTaskLinked{SessionID: "w", TaskID: "t2"}, `task "t2"`},
		{"unlinking no session", &events.SessionTaskUnlinked{SessionID: "none", TaskID: "t1"}, `session "none"`},
		{"unlinking no task", &events.SessionTaskUnlinked{SessionID: "w", TaskID: "none"}, `task "none"`},
		{"losing no session", &events.SessionLost{SessionID: "x"}, `session "x"`},
		{"hearing no session", &events.SessionRecovered{SessionID: "x"}, `session "x"`},
		{"timing out no session", &events.SessionTimedOut{SessionID: "none"}, `session "none"`},
		{"a session of no queue", &events.SessionSpawned{SessionID: "s", Queue: "none"}, `queue "none"`},
		{"a session that queues no task", &events.SessionSpawned{SessionID: "s", Queue: "s", Queued: []string{
			"t1",
			"t2",
		}}, `task "t2"`},
		{"a session that queues one twice", &events.SessionSpawned{SessionID: "s", Queue: "s", Queued: []string{
			"t1",
			"t1",
		}}, `creates the queue item "s/t1", which exists`},
		{"an answer to no question", &events.InputAnswered{InputID: "none"}, `question "none"`},
		{"delivering to no question", &events.InputDelivered{InputID: "none"}, `delivers "none", which is no question`},
		{"a message to no session", &events.SessionMessaged{SessionID: "none", MessageID: "m"}, `session "none"`},
		{"delivering to no session", &events.InputDelivered{InputID: "none", SessionID: "x"}, `waits for session "x"`},
		{"revoking no token", &events.TokenRevoked{Name: "none"}, `token "none"`},
		{"deleting no template", &events.TemplateDeleted{TemplateID: "none"}, `template "none", which does not exist`},
		{"revoking no session's secret", &events.TokenRevoked{SessionID: "x"}, `session "x"`},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, stateOf(t, begun...), by(admin, c.data).event, c.says) })
	}
	// Seven events too, the last as given; t4 is in no queue.
	queued := []given{project(), task("t1"), task("t2"), task("t3"), task("t4"), pulls("w", "w", "t1", "t2", "t3")}
	inHand, asked := started("w", "w", "t1", 1), asks("w", "i1", "Which?")
	token := &events.TokenCreated{Name: "ci", Kind: events.TokenAuditor, Generation: 1}
	for _, c := range []struct {
		name  string
		after given
		data  events.Data
		says  string
	}{
		{"a queue again", inHand, &events.QueueCreated{Queue: "w"}, `creates the queue "w"`},
		{"pushing to no queue", inHand, &events.QueueItemPushed{Queue: "none", TaskID: "t1"}, `queue "none"`},
		{"pushing no task", inHand, &events.QueueItemPushed{Queue: "w", TaskID: "none"}, `task "none"`},
		{
			"pushing it again", inHand, &events.QueueItemPushed{Queue: "w", TaskID: "t1"},
			`creates the queue item "w/t1"`,
		},
		{
			"starting no item", inHand, &events.QueueItemStarted{Queue: "w", TaskID: "t4", SessionID: "w"},
			`queue item "w/t4", which does not exist`,
		},
		{
			"starting what is held", inHand, &events.QueueItemStarted{Queue: "w", TaskID: "t1", SessionID: "w"},
			`queue item "w/t1", which is processing`,
		},
		{
			"starting by no session", inHand, &events.QueueItemStarted{Queue: "w", TaskID: "t2", SessionID: "none"},
			`session "none"`,
		},
		{
			"completing what nobody holds", inHand, &events.QueueItemCompleted{
				Queue: "w", TaskID: "t2",
				SessionID: "w",
			},
			"which is queued",
		},
		{
			"failing what nobody holds", inHand, &events.QueueItemFailed{Queue: "w", TaskID: "t2", SessionID: "w"},
			"which is queued",
		},
		{
			"giving back what nobody holds", inHand, &events.QueueItemReturned{
				Queue: "w", TaskID: "t2",
				SessionID: "w",
			},
			"which is queued",
		},
		{"putting aside what nobody holds", inHand, &events.QueueItemQuarantined{
			Queue: "w", TaskID: "t2",
			SessionID: "w",
		}, "which is queued"},
		{"skipping while held what nobody holds", inHand, &events.QueueItemSkipped{
			Queue:     "w",
			TaskID:    "t2",
			SessionID: "w",
			Held:      true,
		}, "which is queued"},
		{"skipping in the line what is held", inHand, &events.QueueItemSkipped{
			Queue: "w", TaskID: "t1",
			SessionID: "w",
		}, "which is processing"},
		{
			"queueing again what is queued", inHand, &events.QueueItemRequeued{Queue: "w", TaskID: "t2"},
			"which is queued",
		},
		{
			"queueing again what is held", inHand, &events.QueueItemRequeued{Queue: "w", TaskID: "t1"},
			"which is processing",
		},
		{"skipping again", skipped("w", "w", "t2", false), &events.QueueItemSkipped{
			Queue: "w", TaskID: "t2",
			SessionID: "w",
		}, "which is skipped"},
		{"starting what was skipped", skipped("w", "w", "t2", false), &events.QueueItemStarted{
			Queue: "w", TaskID: "t2",
			SessionID: "w",
		}, "which is skipped"},
		{
			"a queue of a session's name", by(admin, &events.QueueCreated{Queue: "s"}),
			&events.SessionSpawned{SessionID: "s", Queue: "s"}, `creates the queue "s"`,
		},
		{"queueing again, with a session", inHand, &events.SessionSpawned{
			SessionID: "s", Queue: "w",
			Queued: []string{"t4", "t2"},
		}, `creates the queue item "w/t2"`},
		{"a question again", asked, asked.data, `creates the question "i1"`},
		{
			"delivering no answer", asked, &events.InputDelivered{InputID: "i1", SessionID: "w"},
			`question "i1", which is open`,
		},
		{"a token again", given{by: admin, data: token, project: nowhere}, token, `creates the token "ci"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, stateOf(t, append(queued[:len(queued):len(queued)], c.after)...), by(admin, c.data).event,
				c.says)
		})
	}
	answer := answered("w", "i1", "yes")
	told := []given{project(), task("t1"), task("t2"), spawn("w"), asked, answer, delivered("w", "i1")}
	refused(t, stateOf(t, told...), answer.event, "which has its answer")
	refused(t, stateOf(t, told...), delivered("w", "i1").event, "which is delivered")
	elsewhere := by(admin, &events.TaskCreated{TaskID: "t9"})
	elsewhere.project = "none"
	good := task("t9")
	change := func(edit func(s *State, e *events.Event)) func(s *State) *events.Event {
		return func(s *State) *events.Event {
			e := good.event(s)
			edit(s, e)
			return e
		}
	}
	for _, c := range []struct {
		name string
		make func(s *State) *events.Event
		says string
	}{
		{"in no project", elsewhere.event, `project "none"`},
		{
			"another chain", change(func(_ *State, e *events.Event) { e.PrevHash[0] ^= 1 }),
			"it follows an event with hash",
		},
		{
			"an id again", change(func(s *State, e *events.Event) { e.ID, _ = s.EventID(2) }),
			"stands at sequence 2 already",
		},
		{
			"before the last", change(func(s *State, e *events.Event) { e.Time = s.At().Add(-time.Millisecond) }),
			"is before that of the event before it",
		},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, stateOf(t, begun...), c.make, c.says) })
	}
	for _, sequence := range []uint64{0, 7, 9} {
		s := stateOf(t, begun...)
		before := encode(t, s)
		_, err := s.Apply(sequence, good.event(s), events.Hash{})
		var damage *events.DamageError
		if !errors.As(err, &damage) || damage.Sequence != 8 || encode(t, s) != before {
			t.Errorf("sequence %d after 7: %v", sequence, err)
		}
	}
	same := stateOf(t, begun...)
	e := good.event(same)
	e.Time = same.At()
	if _, err := same.Apply(8, e, events.Hash{}); err != nil {
		t.Errorf("at the same time as the last: %v", err)
	}
}

// refused applies an event that must stop the fold, on the state itself and on an overlay over it.
func refused(t *testing.T, s *State, next func(*State) *events.Event, says string) {
	t.Helper()
	before, shown := encode(t, s), show(t, s)
	overlay := s.Overlay()
	for _, target := range []*State{s, overlay} {
		e, body := stored(t, next(target))
		changes, err := target.Apply(8, e, events.BodyHash(body))
		var damage *events.DamageError
		if !errors.As(err, &damage) || damage.Sequence != 8 || !strings.Contains(damage.Why, says) {
			t.Errorf("got %v, want damage at 8 that says %q", err, says)
		}
		if changes != nil || encode(t, s) != before || show(t, target) != shown {
			t.Error("something changed")
		}
	}
}

// Events of a random story that do not fit change nothing either.
func TestUnfitEventsChangeNothing(t *testing.T) {
	misfits := 0
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := stateOf(t, randomStory(t, seed, 60)...)
		for range 100 {
			before := encode(t, s)
			if !try(t, s, anything(r)) {
				misfits++
				if encode(t, s) != before {
					t.Fatalf("seed %d: a refused event left a trace", seed)
				}
			}
		}
	}
	if misfits < 100 {
		t.Errorf("only %d misfits were tried", misfits)
	}
}

func TestOverlaysDoNotStack(t *testing.T) {
	for name, call := range map[string]func(){
		"an overlay of an overlay": func() { New().Overlay().Overlay() },
		"an image of an overlay":   func() { New().Overlay().Image() },
		"a second sealed batch": func() {
			overlay := New().Overlay()
			overlay.Seal()
			overlay.Seal()
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is given", name)
				}
			}()
			call()
		}()
	}
}

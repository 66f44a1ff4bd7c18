package projections

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/events"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	goldenLog   = "testdata/golden.log.ndjson"
	goldenViews = "testdata/golden.views.json"
)

// goldenDigest is the SHA-256 of the encoded state of the golden log. It changes only with [Format], or when the story
// gets new events.
const (
	goldenFormat = 30
	goldenDigest = "37854a05f4c75adebbd2ab53c2788a6d6bad8102da6401e164a5d4b45cb69080"
)

// goldenStory has every type of the catalogue, and two sessions on one task. The golden log was written from it; a new
// type goes to its end, so that the stored part does not change.
func goldenStory() []given {
	late := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportError,
		Message:   "too late",
		TaskIDs:   []string{"t1"},
		Late:      true,
	})
	late.said = time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC)
	inQ := func(source string, data events.Data) given { return given{by: source, data: data, project: "q"} }
	story := []given{
		project(),
		by(admin, &events.ProjectUpdated{
			ProjectID: "p", Description: new("the <first>\u2028one"),
			Blobs: events.Blobs{"description": "sha256-1"},
		}),
		task("t1"),
		by(admin, &events.TaskCreated{
			TaskID:       "t2",
			Title:        "Prüfen ✓",
			Priority:     "high",
			ParentID:     "t1",
			Dependencies: []string{"t1"},
			Metadata:     json.RawMessage(`{"kind":"review"}`),
		}),
		task("t3"),
		by(admin, &events.SessionRegistered{SessionID: "o", Created: &events.SessionCreated{
			Name:        "O",
			Role:        events.RoleOrchestrator,
			Strategy:    events.StrategyDefault,
			Status:      events.SessionRunning,
			Permissions: events.Permissions{Commands: []string{"whoami"}},
			Env: map[string]string{
				"B": "2",
				"A": "1",
			},
		}}),
		by(orch, &events.SessionSpawned{
			SessionID: "w",
			Name:      "W",
			Role:      events.RoleWorker,
			Strategy:  events.StrategySimple,
			TaskIDs:   []string{"t1", "t2"},
			Started:   []string{"t1", "t2"},
			SpawnedBy: "o",
			Context:   json.RawMessage(`{"n":1}`),
		}),
		spawn("w2", "t1"),
		by(worker, &events.SessionRegistered{SessionID: "w"}),
		report(worker, "w", events.ReportProgress, "Begun", "t1", "t2"),
		report(second, "w2", events.ReportBlocked, "Waits", "t1"),
		by(worker, &events.SessionFileTracked{SessionID: "w", File: "a.go", TaskID: "t1"}),
		by(worker, &events.SessionNoted{
			SessionID: "w",
			Type:      "milestone",
			Message:   "half",
			TaskID:    "t1",
			Data:      json.RawMessage(`{"percent":50}`),
		}),
		report(worker, "w", events.ReportComplete, "Done", "t1"),
		by(orch, &events.TaskStatusChanged{
			TaskID: "t1",
			From:   events.TaskInProgress,
			To:     events.TaskInProgress,
			Reason: "not yet",
		}),
		by(admin, &events.TaskUpdated{
			TaskID: "t2", Title: new("Prüfe"),
			Status: &events.StatusChange{From: events.TaskInProgress, To: events.TaskCancelled},
		}),
		by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t3"}),
		by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t3"}),
		by(admin, &events.SessionUpdated{SessionID: "w2", Name: new("Second"), Env: map[string]string{"A": "2"}}),
		by(second, &events.SessionCompleted{SessionID: "w2"}),
		by(orch, &events.SessionKilled{SessionID: "w", Reason: "enough", Status: events.SessionStopped}),
		late,
		by(admin, &events.TaskDeleted{TaskID: "t3"}),
		by(admin, &events.SessionDeleted{SessionID: "w2"}),
		inQ(orch, &events.ProjectCreated{ProjectID: "q", Name: "Beta"}),
		inQ(orch, &events.ProjectDeleted{ProjectID: "q"}),
	}
	completed := by(admin, &events.TaskStatusChanged{TaskID: "plan4", From: events.TaskTodo, To: events.TaskCompleted})
	return slices.Concat(story, goldenQueues(), goldenManifests(), goldenTemplates(), goldenMessages(), goldenPlans(),
		goldenWebhooks(), []given{completed}, goldenRuns())
}

// goldenPlans is the part with tasks of a plan: one later gets another place, plan id and labels.
func goldenPlans() []given {
	of := func(data events.Data) given { return by(admin, data) }
	return []given{
		of(&events.QueueCreated{Queue: "moves", MaxAttempts: 2}),
		of(&events.TaskCreated{TaskID: "move1", Title: "First", Priority: "low"}),
		of(&events.TaskCreated{TaskID: "move2", Title: "Second", Priority: "low"}),
		of(&events.TaskCreated{TaskID: "move3", Title: "Third", Priority: "low"}),
		of(&events.QueueItemPushed{Queue: "moves", TaskID: "move1"}),
		of(&events.QueueItemPushed{Queue: "moves", TaskID: "move2"}),
		of(&events.QueueItemPushed{Queue: "moves", TaskID: "move3"}),
		of(&events.QueueItemMoved{Queue: "moves", TaskID: "move3", Before: "move1"}),
		of(&events.QueueItemMoved{Queue: "moves", TaskID: "move1"}),
		of(&events.QueueItemRemoved{Queue: "moves", TaskID: "move2"}),
		of(&events.QueueCreated{Queue: "gone", MaxAttempts: 2, TrustReports: true}),
		of(&events.QueueItemPushed{Queue: "gone", TaskID: "move2"}),
		of(&events.QueueItemRemoved{Queue: "gone", TaskID: "move2"}),
		of(&events.QueueDeleted{Queue: "gone"}),
		of(&events.TaskCreated{
			TaskID:   "plan1",
			Title:    "Planned",
			Priority: "low",
			PlanID:   "first",
			Labels:   []string{"ui", "db"},
		}),
		of(&events.TaskCreated{
			TaskID:   "plan2",
			Title:    "Planned too",
			Priority: "low",
			PlanID:   "second",
			ParentID: "plan1",
		}),
		of(&events.TaskCreated{TaskID: "plan3", Title: "Above", Priority: "low"}),
		of(&events.TaskUpdated{
			TaskID:        "plan2",
			ParentID:      new("plan3"),
			InitialPrompt: new("Begin."),
			PlanID:        new("third"),
			Labels:        &[]string{"api"},
		}),
		of(&events.TaskUpdated{TaskID: "plan1", PlanID: new("second"), Labels: &[]string{}}),
		of(&events.TaskDeleted{TaskID: "plan1"}),
		of(&events.TaskCreated{
			TaskID:   "plan4",
			Title:    "In its place",
			Priority: "low",
			PlanID:   "second",
			ParentID: "plan3",
		}),
		of(&events.TaskUpdated{TaskID: "plan3", Order: &events.SiblingOrder{Key: "7fffffffffffffb0", Before: "plan2"}}),
	}
}

// goldenWebhooks is the part with webhooks: one is changed, parked and resumed, another is deleted.
func goldenWebhooks() []given {
	of := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	return []given{
		of(&events.WebhookCreated{
			WebhookID:  "hook",
			Name:       "Chat",
			URL:        "https://example.org/hook",
			ProjectID:  "p",
			Types:      []string{"task", "session.lost"},
			Generation: 1,
		}),
		of(&events.WebhookCreated{WebhookID: "gone", URL: "https://example.org/", Generation: 1}),
		of(&events.WebhookUpdated{WebhookID: "hook", URL: new("https://example.org/new"), Generation: 2}),
		{by: "/system", project: nowhere, data: &events.WebhookParked{
			WebhookID:  "hook",
			Why:        events.ParkFailing,
			Failures:   12,
			FailingFor: 90_000_000,
			Patience:   86_400_000,
			Problem:    "it answered 500",
		}},
		of(&events.WebhookResumed{WebhookID: "hook", Skipped: true}),
		of(&events.WebhookUpdated{WebhookID: "hook", Types: &[]string{}, Name: new("")}),
		of(&events.WebhookDeleted{WebhookID: "gone"}),
		{by: "/system", project: nowhere, data: &events.WebhookParked{WebhookID: "hook", Why: events.ParkGone}},
	}
}

// goldenTemplates is the part with templates: one is created, changed, reset and deleted; one of Maestro's own is
// changed.
func goldenTemplates() []given {
	of := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	return []given{
		of(&events.TemplateCreated{
			TemplateID: "tmpl",
			Name:       "Mine",
			Role:       events.RoleOrchestrator,
			Content:    "Prüfe <all> ✓",
		}),
		of(&events.TemplateUpdated{TemplateID: "execute-simple", Content: new("Work, then report.")}),
		of(&events.TemplateUpdated{TemplateID: "tmpl", Name: new("Ours")}),
		of(&events.TemplateReset{TemplateID: "tmpl"}),
		of(&events.TemplateCreated{
			TemplateID: "gone",
			Name:       "Gone",
			Role:       events.RoleWorker,
			Content:    "x",
		}),
		of(&events.TemplateDeleted{TemplateID: "gone"}),
	}
}

// goldenMessages is the part with messages: one is received, one still waits.
func goldenMessages() []given {
	return []given{
		by(admin, &events.SessionMessaged{
			SessionID: "x",
			MessageID: "m1",
			Text:      "Prüfe <main> ✓",
			About:     "t6",
		}),
		by(SessionSource("p", "x"), &events.SessionMessaged{SessionID: "o", MessageID: "m2", Text: "Done?"}),
		by(SessionSource("p", "x"), &events.InputDelivered{InputID: "m1", SessionID: "x"}),
	}
}

// goldenManifests is the part with manifests: a session is registered with one, which is reissued, and starts with it.
func goldenManifests() []given {
	source := SessionSource("p", "z")
	first, last := "sha256-"+strings.Repeat("1", 64), "sha256-"+strings.Repeat("2", 64)
	return []given{
		by(admin, &events.SessionRegistered{
			SessionID: "z", ManifestDigest: first,
			Created: &events.SessionCreated{
				Name:     "Z",
				Role:     events.RoleWorker,
				Strategy: events.StrategySimple,
				Status:   events.SessionSpawning,
			},
		}),
		by(admin, &events.SessionUpdated{SessionID: "z", ManifestDigest: new(last)}),
		by(source, &events.SessionRegistered{SessionID: "z", ManifestDigest: last, Role: events.RoleWorker}),
	}
}

// goldenQueues is the part with queues, questions, tokens and deadlines: x works through its own queue; y pulls from
// one that trusts reports, is lost while it holds an item, is recovered, and times out with the item.
func goldenQueues() []given {
	const x, y, system = "/projects/p/sessions/x", "/projects/p/sessions/y", "/system"
	pulls := func(id, queue string, timeout int64, tasks ...string) given {
		return by(admin, &events.SessionSpawned{
			SessionID: id,
			Name:      id,
			Role:      events.RoleWorker,
			Strategy:  events.StrategyQueue,
			TaskIDs:   tasks,
			Queue:     queue,
			Queued:    tasks,
			Timeout:   timeout,
		})
	}
	start := func(session, queue, task string, attempt, passedOver int) given {
		return by(SessionSource("p", session), &events.QueueItemStarted{
			Queue:      queue,
			TaskID:     task,
			SessionID:  session,
			Attempt:    attempt,
			PassedOver: passedOver,
		})
	}
	ask := func(input string, options ...string) given {
		return by(x, &events.SessionReported{
			SessionID: "x",
			Kind:      events.ReportNeedsInput,
			Message:   "Which key?",
			TaskIDs:   []string{"t6"},
			InputID:   input,
			Options:   options,
		})
	}
	token := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	return []given{
		task("t4"),
		by(admin, &events.TaskCreated{
			TaskID:       "t5",
			Title:        "Needs t4",
			Priority:     "medium",
			Dependencies: []string{"t4"},
		}),
		task("t6"),
		by(admin, &events.QueueCreated{Queue: "reviews", TrustReports: true, MaxAttempts: 2}),
		pulls("x", "x", 0, "t5", "t4", "t6"),
		pulls("y", "reviews", 3_600_000),
		by(admin, &events.QueueItemPushed{Queue: "reviews", TaskID: "t5"}),
		by(x, &events.QueueItemPushed{Queue: "reviews", TaskID: "t6"}),
		start("x", "x", "t4", 1, 1),
		// which makes t5 ready where reports are trusted
		by(x, &events.QueueItemCompleted{Queue: "x", TaskID: "t4", SessionID: "x"}),
		start("y", "reviews", "t5", 1, 0),
		by(system, &events.SessionLost{SessionID: "y", LastHeard: epoch.UnixMilli(), Lease: 60_000}),
		by(system, &events.QueueItemReturned{
			Queue:     "reviews",
			TaskID:    "t5",
			SessionID: "y",
			Attempt:   1,
			Reason:    "lost",
		}),
		by(system, &events.SessionRecovered{SessionID: "y"}),
		start("y", "reviews", "t5", 2, 0),
		start("x", "x", "t6", 1, 1),
		by(x, &events.QueueItemFailed{
			Queue:     "x",
			TaskID:    "t6",
			SessionID: "x",
			Reason:    "no key",
		}),
		by(admin, &events.QueueItemRequeued{Queue: "x", TaskID: "t6"}),
		start("x", "x", "t6", 1, 1),
		ask("i1", "yours", "mine"),
		by(orch, &events.InputAnswered{
			InputID:   "i1",
			SessionID: "x",
			Answer:    "neither",
			Other:     true,
		}),
		by(x, &events.InputDelivered{InputID: "i1", SessionID: "x"}),
		ask("i2"),
		by(admin, &events.InputAnswered{InputID: "i2", SessionID: "x", Answer: "mine"}),
		ask("i3", "yes", "no"),
		by(x, &events.QueueItemSkipped{
			Queue:     "x",
			TaskID:    "t6",
			SessionID: "x",
			Held:      true,
		}),
		by(system, &events.SessionTimedOut{SessionID: "y", Deadline: at(32) + 3_600_000}),
		by(system, &events.QueueItemQuarantined{
			Queue:     "reviews",
			TaskID:    "t5",
			SessionID: "y",
			Attempt:   2,
			Reason:    "failed",
		}),
		by(admin, &events.QueueItemSkipped{Queue: "reviews", TaskID: "t6"}),
		token(&events.TokenCreated{
			Name:       "ci",
			Kind:       events.TokenReadOnly,
			ProjectIDs: []string{"p"},
			Generation: 1,
		}),
		token(&events.TokenCreated{Name: "eyes", Kind: events.TokenAuditor, Generation: 1}),
		token(&events.TokenRevoked{Name: "ci", Generation: 1}),
		token(&events.TokenCreated{Name: "ci", Kind: events.TokenAdmin, Generation: 2}),
		token(&events.TokenRevoked{Name: "eyes", Generation: 1}),
		by(admin, &events.TokenRevoked{SessionID: "x", Generation: 2}),
		// a reopen also drops what y, which has ended, had said before
		by(orch, &events.SessionReported{
			SessionID: "o",
			Kind:      events.ReportComplete,
			Message:   "as y left it",
			TaskIDs:   []string{"t5"},
		}),
		by(admin, &events.TaskStatusChanged{
			TaskID: "t5",
			From:   events.TaskInProgress,
			To:     events.TaskInProgress,
			Reason: "look again",
		}),
		{by: system, data: &events.TokenUsed{Name: "ci", Generation: 2, Address: "192.0.2.1"}, project: nowhere},
		{by: system, data: &events.TokenUsed{
			Name:       "admin",
			Address:    "2001:db8::/64",
			LoginUntil: at(64),
		}, project: nowhere},
		token(&events.TextRedacted{Text: "sha256-1", Reason: "it held a password"}),
	}
}

// TestReplay folds a log that never changes: every later version must compute the same state.
func TestReplay(t *testing.T) {
	if *update {
		writeGolden(t)
	}
	log, err := os.ReadFile(goldenLog)
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	overlay := s.Overlay()
	var decoder events.Decoder
	types := map[string]bool{}
	for body := range bytes.Lines(log) {
		body = bytes.TrimSuffix(body, []byte("\n"))
		event, err := decoder.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		types[event.Data.EventType()] = true
		remember(event, body)
		if _, err := overlay.Apply(overlay.Head().Sequence+1, event, events.BodyHash(body)); err != nil {
			t.Fatal(err)
		}
		overlay.Commit()
	}
	for _, entry := range events.Catalogue() {
		if !types[entry.Type] {
			t.Errorf("the golden log has no %s: add one at its end, and run `make golden`", entry.Type)
		}
	}
	if digest := events.BodyHash([]byte(encode(t, s))).String(); Format != goldenFormat || digest != goldenDigest {
		t.Errorf("format %d with digest %s, pinned are %d and %s: a changed encoding needs another Format, or old "+
			"snapshots are misread", Format, digest, goldenFormat, goldenDigest)
	}
	views, err := os.ReadFile(goldenViews)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(t, s) + "\n"; got != string(views) {
		t.Errorf("the views differ %s", firstDifference(got, string(views)))
	}
}

func writeGolden(t *testing.T) {
	t.Helper()
	var log bytes.Buffer
	s := New()
	for _, g := range goldenStory() {
		event, body := stored(t, g.event(s))
		if _, err := s.Apply(s.Head().Sequence+1, event, events.BodyHash(body)); err != nil {
			t.Fatal(err)
		}
		log.Write(append(body, '\n'))
	}
	if err := os.WriteFile(goldenLog, log.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenViews, []byte(show(t, s)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

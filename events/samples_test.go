package events

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
)

// samples has one payload for each type of the catalogue, with every field set.
var samples = []Data{
	&ProjectCreated{ProjectID: "proj_1", Name: "Alpha", WorkingDir: "/src/alpha", Description: "The <first> & \"best\"", Blobs: aBlob("description")},
	&ProjectUpdated{ProjectID: "proj_1", Name: new("Beta"), WorkingDir: new("/src/beta"), Description: new(""), Blobs: aBlob("description")},
	&ProjectDeleted{ProjectID: "proj_1"},
	&TaskCreated{
		TaskID: "task_1", Title: "Prüfe die Anmeldung", Description: "line one\nline two", AcceptanceCriteria: []string{"it works", "it is tested"},
		Priority: "high", ParentID: "task_0", Dependencies: []string{"task_2", "task_3"}, InitialPrompt: "Begin.", SkillIDs: []string{"go"},
		Model: "sonnet", Metadata: json.RawMessage(`{"kind":"review","n":[1,2]}`), Blobs: aBlob("initialPrompt"),
	},
	&TaskUpdated{
		TaskID: "task_1", Title: new("New"), Description: new("other"), AcceptanceCriteria: &[]string{"one"}, Priority: new("low"),
		Dependencies: &[]string{}, SkillIDs: &[]string{"go"}, AgentIDs: &[]string{"agent_1"}, Model: new("opus"),
		Metadata: json.RawMessage(`{"a":1}`), Status: &StatusChange{From: TaskTodo, To: TaskCancelled}, Blobs: aBlob("description"),
	},
	&TaskStatusChanged{TaskID: "task_1", From: TaskInProgress, To: TaskBlocked, Reason: "waits for a key"},
	&TaskDeleted{TaskID: "task_1", Recursive: true, Descendants: []string{"task_4", "task_5"}},
	&SessionSpawned{
		SessionID: "sess_1", Name: "Worker for task_1", Role: RoleWorker, Strategy: StrategyQueue, TaskIDs: []string{"task_1", "task_2"},
		Started: []string{"task_1"}, Unmet: []string{"task_9"}, Strict: true, Permissions: Permissions{Commands: []string{"whoami", "task:get"}, Explicit: true},
		SpawnedBy: "sess_0", Queue: "sess_1", Queued: []string{"task_1", "task_2"}, Timeout: 60_000, Model: "haiku", Agent: "codex", Skills: []string{"go"}, Context: json.RawMessage(`{"note":"x"}`), ManifestDigest: digest,
	},
	&SessionRegistered{SessionID: "sess_1", Created: &SessionCreated{
		Name: "Own", Role: RoleOrchestrator, Strategy: StrategyDAG, Status: SessionRunning, TaskIDs: []string{"task_1"},
		Permissions: Permissions{Commands: []string{"whoami"}, Explicit: true}, Env: map[string]string{"B": "2", "A": "1"},
		Metadata: json.RawMessage(`{}`), AgentID: "agent_1",
	}, ManifestDigest: digest, Role: RoleOrchestrator},
	&SessionUpdated{SessionID: "sess_1", Name: new("Other"), Status: new(SessionIdle), AgentID: new("agent_2"), TaskIDs: &[]string{"task_2"}, Env: map[string]string{"A": "2"}, ManifestDigest: new(digest)},
	&SessionCompleted{SessionID: "sess_1"},
	&SessionKilled{SessionID: "sess_1", Reason: "not needed", Status: SessionStopped},
	&SessionDeleted{SessionID: "sess_1"},
	&SessionReported{
		SessionID: "sess_1", Kind: ReportComplete, Message: "Done\u2028\tall \\ \"green\" ✓", TaskIDs: []string{"task_1", "task_2"},
		SessionCompleted: true, Late: true, InputID: "input_1", Options: []string{"yes", "no"}, Blobs: aBlob("message"),
	},
	&SessionNoted{SessionID: "sess_1", Type: "milestone", Message: "half-way", TaskID: "task_1", Data: json.RawMessage(`{"percent":50}`), Blobs: aBlob("message")},
	&SessionFileTracked{SessionID: "sess_1", File: "cmd/main.go", TaskID: "task_1"},
	&SessionTaskLinked{SessionID: "sess_1", TaskID: "task_1"},
	&SessionTaskUnlinked{SessionID: "sess_1", TaskID: "task_1"},
	&SessionLost{SessionID: "sess_1", LastHeard: 1_700_000_000_000, Lease: 60_000},
	&SessionRecovered{SessionID: "sess_1"},
	&SessionTimedOut{SessionID: "sess_1", Deadline: 1_700_000_000_000},
	&QueueCreated{Queue: "reviews", TrustReports: true, MaxAttempts: 3},
	&QueueItemPushed{Queue: "reviews", TaskID: "task_1"},
	&QueueItemStarted{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1", Attempt: 2, PassedOver: 4},
	&QueueItemCompleted{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1"},
	&QueueItemFailed{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1", Reason: "no key"},
	&QueueItemSkipped{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1", Held: true},
	&QueueItemRequeued{Queue: "reviews", TaskID: "task_1"},
	&QueueItemReturned{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1", Attempt: 1, Reason: "lost"},
	&QueueItemQuarantined{Queue: "reviews", TaskID: "task_1", SessionID: "sess_1", Attempt: 3, Reason: "stopped"},
	&InputAnswered{InputID: "input_1", SessionID: "sess_1", Answer: "yes", Other: true},
	&InputDelivered{InputID: "input_1", SessionID: "sess_1"},
	&TokenCreated{
		Name:       "ci",
		Kind:       TokenReadOnly,
		ProjectIDs: []string{"proj_1"},
		Generation: 2,
		ExpiresAt:  1767225600000,
	},
	&TokenRevoked{Name: "ci", SessionID: "sess_1", Generation: 3, Children: []string{"nightly"}},
	&TemplateCreated{TemplateID: "tmpl_1", Name: "Reviews", Role: RoleWorker, Content: "Look <closely>.\n"},
	&TemplateUpdated{TemplateID: "tmpl_1", Name: new("Audits"), Content: new("Look twice.")},
	&TemplateReset{TemplateID: "tmpl_1"},
	&TemplateDeleted{TemplateID: "tmpl_1"},
}

const digest = "sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func aBlob(field string) Blobs { return Blobs{field: digest} }

// sampleEvent wraps a payload in an envelope with every attribute set.
func sampleEvent(data Data) *Event {
	return &Event{
		ID: uuid.MustParse("0f7e1c9a-5b6d-5e8f-a123-456789abcdef"), Source: "/projects/proj_1/sessions/sess_0",
		Time: time.Date(2026, 3, 1, 12, 30, 45, 123e6, time.UTC), OccurredAt: time.Date(2026, 3, 1, 12, 29, 0, 0, time.UTC), Project: "proj_1",
		CausationID: "11111111-2222-5333-8444-555555555555", CorrelationID: "66666666-7777-5888-9999-aaaaaaaaaaaa",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", PrevHash: BodyHash([]byte("before")),
		RequestHash: RequestHash{1, 2, 3, 254, 255}, Rules: "1", Authn: "token", Data: data,
	}
}

func TestSamplesAreWhole(t *testing.T) {
	have := map[string]bool{}
	for _, data := range samples {
		have[data.EventType()] = true
		empty(t, data.EventType(), reflect.ValueOf(data).Elem())
		empty(t, "the envelope of "+data.EventType(), reflect.ValueOf(sampleEvent(data)).Elem())
	}
	for _, entry := range Catalogue() {
		if !have[entry.Type] {
			t.Errorf("%s has no sample: add one, and run `make golden`", entry.Type)
		}
	}
}

// empty complains of every field that is zero, so that a new field gets into the samples.
func empty(t *testing.T, where string, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			t.Errorf("%s is not set", where)
			return
		}
		v = v.Elem()
	} else if v.IsZero() {
		t.Errorf("%s is not set", where)
	}
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
		for i := range v.NumField() {
			empty(t, fmt.Sprintf("%s.%s", where, v.Type().Field(i).Name), v.Field(i))
		}
	}
}

package projections

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"maestro/events"
)

// want are members of a view after a story, as JSON, by name; "a.b" is a member of a member.
type want map[string]string

// match compares a view with the wanted members.
func match(t *testing.T, view any, wanted want) {
	t.Helper()
	text, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	for path, value := range wanted {
		got := string(text)
		for name := range strings.SplitSeq(path, ".") {
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(got), &members); err != nil {
				t.Fatalf("%s: %v in %s", path, err, got)
			}
			got = string(members[name])
		}
		if got != value {
			t.Errorf("%s is %s, want %s", path, got, value)
		}
	}
}

func ms(sequence int) string { return fmt.Sprint(at(sequence)) }

func TestProject(t *testing.T) {
	full := by("/projects/p0/sessions/o", &events.ProjectCreated{
		ProjectID:   "p",
		Name:        "Alpha",
		WorkingDir:  "/src",
		Description: "d",
		Blobs:       events.Blobs{"description": "sha256-1"},
	})
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{
			"created",
			[]given{full},
			want{
				"id": `"p"`, "name": `"Alpha"`, "workingDir": `"/src"`, "description": `"d"`, "createdAt": ms(1),
				"updatedAt": ms(1),
				"createdBy": `"/projects/p0/sessions/o"`, "tasks": "0", "sessions": "0",
				"blobs": `{"description":"sha256-1"}`,
			},
		},
		{
			"one field updated",
			[]given{full, by(admin, &events.ProjectUpdated{ProjectID: "p", Name: new("Beta")})},
			want{
				"name": `"Beta"`, "workingDir": `"/src"`, "description": `"d"`, "createdAt": ms(1), "updatedAt": ms(2),
				"createdBy": `"/projects/p0/sessions/o"`, "blobs": `{"description":"sha256-1"}`,
			},
		},
		{
			"a short text replaces a long one",
			[]given{full, by(admin, &events.ProjectUpdated{
				ProjectID: "p", Description: new(""),
				WorkingDir: new("/x"),
			})},
			want{"name": `"Alpha"`, "workingDir": `"/x"`, "description": `""`, "blobs": ""},
		},
		{
			"another long one",
			[]given{full, by(admin, &events.ProjectUpdated{
				ProjectID: "p", Description: new("e"),
				Blobs: events.Blobs{"description": "sha256-2"},
			})},
			want{"description": `"e"`, "blobs": `{"description":"sha256-2"}`},
		},
		{
			"counts what is not deleted",
			[]given{
				full, task("t1"), task("t2"), task("t3"), spawn("w", "t1"), spawn("w2", "t1"),
				by(admin, &events.TaskDeleted{TaskID: "t1", Recursive: true, Descendants: []string{"t2"}}),
				by(admin, &events.SessionDeleted{SessionID: "w"}),
			},
			want{"tasks": "1", "sessions": "1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) { match(t, stateOf(t, c.story...).Project("p").View(), c.want) })
	}
	s := stateOf(t, full, by(admin, &events.ProjectDeleted{ProjectID: "p"}))
	if s.Project("p") != nil || len(idsOf(s.Projects(), func(p *Project) string { return p.ID })) != 0 {
		t.Error("a deleted project is shown")
	}
}

func TestTask(t *testing.T) {
	full := by(worker, &events.TaskCreated{
		TaskID:             "t1",
		Title:              "T",
		Description:        "d",
		AcceptanceCriteria: []string{"c"},
		Priority:           "high",
		Dependencies:       []string{"t2"},
		InitialPrompt:      "i",
		SkillIDs:           []string{"s"},
		Model:              "opus",
		Metadata:           json.RawMessage(`{"a":1}`),
		Blobs:              events.Blobs{"initialPrompt": "sha256-1"},
	})
	update := by(admin, &events.TaskUpdated{
		TaskID:             "t1",
		Title:              new("U"),
		Description:        new("e"),
		AcceptanceCriteria: &[]string{},
		Priority:           new("low"),
		Dependencies:       &[]string{},
		SkillIDs:           &[]string{"r"},
		AgentIDs:           &[]string{"a"},
		Model:              new("haiku"),
		Metadata:           json.RawMessage(`{}`),
		Status:             &events.StatusChange{From: events.TaskTodo, To: events.TaskCancelled},
	})
	move := func(to events.TaskStatus) given { return by(admin, &events.TaskStatusChanged{TaskID: "t1", To: to}) }
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{
			"created",
			[]given{project(), task("t2"), full},
			want{
				"id": `"t1"`, "projectId": `"p"`, "parentId": "null", "title": `"T"`, "description": `"d"`,
				"status": `"todo"`, "priority": `"high"`,
				"createdAt": ms(3), "updatedAt": ms(3), "startedAt": "null", "completedAt": "null",
				"initialPrompt": `"i"`, "sessionIds": "[]",
				"skillIds": `["s"]`, "agentIds": "[]", "dependencies": `["t2"]`, "sessionStatus": "", "model": `"opus"`,
				"acceptanceCriteria": `["c"]`,
				"unmetDependencies":  `["t2"]`, "createdBy": `"` + worker + `"`, "metadata": `{"a":1}`,
				"blobs": `{"initialPrompt":"sha256-1"}`,
			},
		},
		{
			"updated, every field and the status",
			[]given{project(), task("t2"), full, update},
			want{
				"title": `"U"`, "description": `"e"`, "status": `"cancelled"`, "priority": `"low"`, "createdAt": ms(3),
				"updatedAt":     ms(4),
				"initialPrompt": `"i"`, "skillIds": `["r"]`, "agentIds": `["a"]`, "dependencies": "[]",
				"model": `"haiku"`, "acceptanceCriteria": "[]",
				"metadata": `{}`, "blobs": `{"initialPrompt":"sha256-1"}`, "startedAt": "null",
			},
		},
		{
			"a dependency that is completed is met",
			[]given{project(), task("t2"), full, by(admin, &events.TaskStatusChanged{
				TaskID: "t2",
				To:     events.TaskCompleted,
			})},
			want{"unmetDependencies": ""},
		},
		{
			"started and completed once, and reopened: the first times stay",
			[]given{
				project(), task("t1"), move(events.TaskInProgress), move(events.TaskCompleted),
				move(events.TaskInProgress), move(events.TaskCompleted), move(events.TaskBlocked),
			},
			want{"status": `"blocked"`, "startedAt": ms(3), "completedAt": ms(4), "updatedAt": ms(7)},
		},
		{
			"spawning starts what the event names, and links the others",
			[]given{
				project(), task("t1"), task("t2"),
				by(admin, &events.SessionSpawned{
					SessionID: "w",
					Name:      "w",
					Role:      events.RoleWorker,
					TaskIDs:   []string{"t1", "t2"},
					Started:   []string{"t2"},
				}),
			},
			want{"status": `"todo"`, "startedAt": "null", "sessionIds": `["w"]`, "activeSessionId": `"w"`},
		},
		{
			"linked and unlinked",
			[]given{
				project(), task("t1"), task("t2"), spawn("w", "t2"),
				by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t1"}),
				by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"}),
			},
			want{"sessionIds": "[]", "activeSessionId": "", "status": `"todo"`},
		},
		{
			"a session's new tasks have it",
			[]given{
				project(), task("t1"), task("t2"), spawn("w", "t2"),
				by(admin, &events.SessionUpdated{SessionID: "w", TaskIDs: &[]string{"t1", "gone"}}),
			},
			want{"sessionIds": `["w"]`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.TaskView(s.Task("t1")), c.want)
		})
	}
}

func TestTaskTree(t *testing.T) {
	below := func(id, parent string) given {
		return by(admin, &events.TaskCreated{
			TaskID:   id,
			Title:    id,
			Priority: "low",
			ParentID: parent,
		})
	}
	story := []given{project(), task("t1"), below("t2", "t1"), below("t3", "t2"), task("t4"), below("t5", "t1")}
	s := stateOf(t, story...)
	id := func(x *Task) string { return x.ID }
	equalLists(t, "tasks", idsOf(s.Tasks("p"), id), "t1", "t2", "t3", "t4", "t5")
	equalLists(t, "children", idsOf(s.Children("t1"), id), "t2", "t5")
	equalLists(t, "descendants, parents first", s.Descendants("t1", 0), "t2", "t5", "t3")
	within := func(task string, these ...string) bool { return s.Within(these)(task) }
	if !within("t3", "t9", "t1") || within("t4", "t1") || !within("t4", "t4") || within("gone", "t1") {
		t.Error("Within is wrong")
	}
	if many := s.Within([]string{"t2"}); many("t1") || !many("t3") || many("t5") || !many("t2") || !many("t3") ||
		many("t1") {
		t.Error("Within is wrong for many")
	}
	shape := func(s *State) string {
		var draw func(trees []TaskTree) string
		draw = func(trees []TaskTree) string {
			text := ""
			for _, tree := range trees {
				text += " " + tree.ID + "(" + draw(tree.Children) + ")"
			}
			return strings.TrimSpace(text)
		}
		return draw(s.TaskTrees("p", MaxTreeTasks))
	}
	if got, want := shape(s), "t1(t2(t3()) t5()) t4()"; got != want {
		t.Errorf("tree %s, want %s", got, want)
	}
	s = stateOf(t, append(story, by(admin, &events.TaskDeleted{TaskID: "t1"}))...)
	if got, want := shape(s), "t2(t3()) t4() t5()"; got != want {
		t.Errorf("without its root: %s, want %s", got, want)
	}
	s = stateOf(t, append(story, by(admin, &events.TaskDeleted{
		TaskID: "t1", Recursive: true,
		Descendants: []string{"t2", "t5", "t3"},
	}))...)
	if got, want := shape(s), "t4()"; got != want {
		t.Errorf("without the whole tree: %s, want %s", got, want)
	}
	if s.TaskProject("t1") != "p" || s.TaskProject("never") != "" {
		t.Error("a deleted task keeps its project")
	}
}

func TestSession(t *testing.T) {
	full := by(orch, &events.SessionSpawned{
		SessionID:      "w",
		Name:           "W",
		Role:           events.RoleWorker,
		Strategy:       events.StrategyTree,
		TaskIDs:        []string{"t1"},
		Permissions:    events.Permissions{Commands: []string{"whoami"}, Explicit: true},
		SpawnedBy:      "o",
		Model:          "opus",
		Agent:          "codex",
		Skills:         []string{"s"},
		Context:        json.RawMessage(`{"a":1}`),
		ManifestDigest: "sha256-1",
	})
	spawned := []given{project(), task("t1"), full}
	then := func(more ...given) []given { return append(append([]given{}, spawned...), more...) }
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{
			"spawned",
			spawned,
			want{
				"id": `"w"`, "projectId": `"p"`, "taskIds": `["t1"]`, "name": `"W"`, "role": `"worker"`, "env": "{}",
				"strategy": `"tree"`, "status": `"spawning"`,
				"startedAt": ms(3), "lastActivity": ms(3), "completedAt": "null", "endedAt": "", "spawnedBy": `"o"`,
				"model": `"opus"`, "agent": `"codex"`,
				"permissions": `{"commands":["whoami"],"explicit":true}`, "skills": `["s"]`,
				"manifestDigest": `"sha256-1"`,
			},
		},
		{
			"registered by a user that nobody spawned",
			[]given{project(), by(admin, &events.SessionRegistered{SessionID: "w", Created: &events.SessionCreated{
				Name:        "N",
				Role:        events.RoleOrchestrator,
				Strategy:    events.StrategyDefault,
				Status:      events.SessionIdle,
				Env:         map[string]string{"A": "1"},
				Permissions: events.Permissions{Commands: []string{"status"}},
				Metadata:    json.RawMessage(`{"m":1}`),
				AgentID:     "a",
			}})},
			want{
				"name": `"N"`, "role": `"orchestrator"`, "strategy": `"default"`, "status": `"idle"`,
				"env": `{"A":"1"}`, "metadata": `{"m":1}`,
				"agentId": `"a"`, "permissions": `{"commands":["status"]}`, "spawnedBy": "", "manifestDigest": "",
			},
		},
		{"registered", then(by(worker, &events.SessionRegistered{SessionID: "w"})), want{
			"status":       `"running"`,
			"lastActivity": ms(4),
		}},
		{"begun with its manifest", then(by(worker, &events.SessionRegistered{
			SessionID:      "w",
			ManifestDigest: "sha256-1", Role: events.RoleWorker,
		})), want{
			"status": `"running"`, "role": `"worker"`,
			"manifestDigest": `"sha256-1"`, "lastActivity": ms(4),
		}},
		{
			"registered by a user with a manifest",
			[]given{project(), by(admin, &events.SessionRegistered{
				SessionID: "w", ManifestDigest: "sha256-2",
				Created: &events.SessionCreated{
					Name:     "N",
					Role:     events.RoleWorker,
					Strategy: events.StrategySimple,
					Status:   events.SessionSpawning,
				},
			})},
			want{"status": `"spawning"`, "manifestDigest": `"sha256-2"`},
		},
		{"its manifest issued again", then(by(admin, &events.SessionUpdated{
			SessionID:      "w",
			ManifestDigest: new("sha256-2"),
		})), want{
			"manifestDigest": `"sha256-2"`, "name": `"W"`,
			"status": `"spawning"`, "lastActivity": ms(4),
		}},
		{
			"another update leaves its manifest", then(by(admin, &events.SessionUpdated{
				SessionID: "w",
				Name:      new("V"),
			})),
			want{"name": `"V"`, "manifestDigest": `"sha256-1"`},
		},
		{"heard makes it run", then(report(worker, "w", events.ReportProgress, "m")), want{
			"status":       `"running"`,
			"lastActivity": ms(4),
		}},
		{
			"named by another does not", then(by(admin, &events.SessionNoted{SessionID: "w", Type: "n", Message: "m"})),
			want{"status": `"spawning"`, "lastActivity": ms(4)},
		},
		{
			"updated",
			then(by(admin, &events.SessionUpdated{
				SessionID: "w",
				Name:      new("V"),
				Status:    new(events.SessionIdle),
				AgentID:   new("b"),
				TaskIDs:   &[]string{},
				Env:       map[string]string{"A": "1"},
			}),
				by(admin, &events.SessionUpdated{SessionID: "w", Env: map[string]string{"B": "2"}})),
			want{
				"name": `"V"`, "status": `"idle"`, "agentId": `"b"`, "taskIds": "[]", "env": `{"A":"1","B":"2"}`,
				"lastActivity": ms(5),
			},
		},
		{
			"a variable is taken away",
			then(by(admin, &events.SessionUpdated{SessionID: "w", Env: map[string]string{"A": "1", "B": "2"}}),
				by(admin, &events.SessionUpdated{
					SessionID:  "w",
					Env:        map[string]string{"C": "3"},
					RemovedEnv: []string{"A"},
				})),
			want{"env": `{"B":"2","C":"3"}`},
		},
		{
			"the last variable is taken away",
			then(by(admin, &events.SessionUpdated{SessionID: "w", Env: map[string]string{"A": "1"}}),
				by(admin, &events.SessionUpdated{SessionID: "w", RemovedEnv: []string{"A"}})),
			want{"env": `{}`},
		},
		{"its own word that it is idle stays", then(by(worker, &events.SessionUpdated{
			SessionID: "w",
			Status:    new(events.SessionIdle),
		})), want{"status": `"idle"`}},
		{
			"completed, and still no end", then(by(worker, &events.SessionCompleted{SessionID: "w"})),
			want{"status": `"completed"`, "completedAt": ms(4), "endedAt": ""},
		},
		{"completed by its report", then(by(worker, &events.SessionReported{
			SessionID:        "w",
			Kind:             events.ReportComplete,
			Message:          "m",
			SessionCompleted: true,
		})), want{"status": `"completed"`, "completedAt": ms(4)}},
		{"a report after completed changes no status", then(by(worker, &events.SessionCompleted{SessionID: "w"}),
			report(worker, "w", events.ReportProgress, "m")), want{
			"status": `"completed"`, "completedAt": ms(4),
			"lastActivity": ms(5),
		}},
		{
			"killed", then(by(admin, &events.SessionKilled{
				SessionID: "w", Reason: "r",
				Status: events.SessionStopped,
			})),
			want{"status": `"stopped"`, "endedAt": ms(4), "completedAt": ms(4), "endReason": `"r"`},
		},
		{
			"failed", then(by(admin, &events.SessionKilled{SessionID: "w", Status: events.SessionEndFailed})),
			want{"status": `"failed"`, "endedAt": ms(4)},
		},
		{
			"a task more", then(task("t2"), by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t2"})),
			want{"taskIds": `["t1","t2"]`},
		},
		{
			"a task less", then(by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})),
			want{"taskIds": "[]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) { match(t, stateOf(t, c.story...).Session("w").View(), c.want) })
	}

	s := stateOf(t, then(by(admin, &events.SessionDeleted{SessionID: "w"}))...)
	if s.Session("w") != nil || s.SessionProject("w") != "p" || len(s.SessionTimeline("w")) == 0 {
		t.Error("a deleted session must be gone from the views, and its history must stay")
	}
	e := full.event(New())
	x := stateOf(t, spawned...).Session("w")
	if x.Source() != worker || x.Generation != 1 || !x.Spawned || x.Cause.Event == "" ||
		x.Cause.First != x.Cause.Event || string(x.Context) != `{"a":1}` {
		t.Errorf("%+v", *x.SessionFields)
	}
	e.CorrelationID = "first"
	fresh := stateOf(t, project(), task("t1"))
	e.PrevHash, e.ID, e.Time = fresh.Head().Hash, events.ID("a", "", "", "b"), fresh.At()
	read, body := stored(t, e)
	if _, err := fresh.Apply(3, read, events.BodyHash(body)); err != nil || fresh.Session("w").Cause.First != "first" {
		t.Errorf("the chain of causes must continue: %v, %+v", err, fresh.Session("w"))
	}
}

// docs/spec/003-manifest-schema.md, "Two-Status Model": users and orchestrators set status, agents set sessionStatus.
func TestTwoStatuses(t *testing.T) {
	begun := []given{project(), task("t1"), spawn("w", "t1"), spawn("w2", "t1")}
	then := func(more ...given) []given { return append(append([]given{}, begun...), more...) }
	kill := func(id string) given {
		return by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped})
	}
	said := func(sequence int, session, status string) string {
		return fmt.Sprintf(`{"sessionId":%q,"status":%q,"at":%s,"sequence":%d}`, session, status, ms(sequence),
			sequence)
	}
	working, done := report(worker, "w", events.ReportProgress, "m", "t1"), report(second, "w2", events.ReportComplete,
		"m", "t1")
	afterDone := by(second, &events.SessionReported{
		SessionID: "w2",
		Kind:      events.ReportProgress,
		Message:   "m",
		TaskIDs:   []string{"t1"},
		AfterDone: true,
	})
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"nothing said", then(), want{
			"status": `"in_progress"`, "sessionStatus": "", "saidBy": "",
			"sessionIds": `["w","w2"]`, "activeSessionId": `"w2"`,
		}},
		{"progress", then(working), want{
			"status": `"in_progress"`, "sessionStatus": `"working"`, "saidBy": `"w"`,
			"updatedAt": ms(5),
		}},
		{"complete waits for a person", then(done), want{
			"status": `"in_progress"`, "sessionStatus": `"completed"`,
			"completedAt": "null",
		}},
		{"blocked", then(report(worker, "w", events.ReportBlocked, "m", "t1")), want{
			"status":        `"in_progress"`,
			"sessionStatus": `"blocked"`,
		}},
		{"error", then(report(worker, "w", events.ReportError, "m", "t1")), want{
			"status":        `"in_progress"`,
			"sessionStatus": `"failed"`,
		}},
		{"needs input", then(report(worker, "w", events.ReportNeedsInput, "m", "t1")), want{
			"status":        `"in_progress"`,
			"sessionStatus": `"needs_input"`,
		}},
		{"without a task", then(report(worker, "w", events.ReportBlocked, "m")), want{
			"sessionStatus": "",
			"updatedAt":     ms(4),
		}},
		{"a late report", then(by(worker, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportComplete,
			Message:   "m",
			TaskIDs:   []string{"t1"},
			Late:      true,
		})), want{"sessionStatus": "", "updatedAt": ms(4)}},
		{"progress after its session said that it is done: what is completed stays", then(done, afterDone), want{
			"sessionStatus": `"completed"`, "saidBy": `"w2"`, "says": "[" + said(5, "w2", "completed") + "]",
		}},
		{"what was not completed says nothing new", then(afterDone), want{"sessionStatus": "", "saidBy": ""}},
		{
			"a reopened task is not said to be worked on", then(done, moved("t1", events.TaskCompleted),
				moved("t1", events.TaskInProgress), afterDone), want{"sessionStatus": "", "saidBy": ""},
		},
		{"two sessions: the newest word", then(working, done), want{
			"sessionStatus": `"completed"`, "saidBy": `"w2"`,
			"says": "[" + said(5, "w", "working") + "," + said(6, "w2", "completed") + "]",
		}},
		{"two sessions: the other speaks again", then(working, done, report(worker, "w", events.ReportBlocked, "m",
			"t1")), want{"sessionStatus": `"blocked"`, "saidBy": `"w"`, "says": "[" + said(6, "w2", "completed") + "," +
			said(7, "w", "blocked") + "]"}},
		{
			"the newest speaker ends: how its work ended stands", then(working, done, kill("w2")),
			want{"sessionStatus": `"completed"`, "saidBy": `"w2"`, "activeSessionId": `"w"`},
		},
		{
			"the newest speaker ends while it works: the word of one that has not", then(done, working, kill("w")),
			want{"sessionStatus": `"completed"`, "saidBy": `"w2"`, "activeSessionId": `"w2"`},
		},
		{
			"all have ended: the newest of all", then(working, done, kill("w"), kill("w2")),
			want{"sessionStatus": `"completed"`, "saidBy": `"w2"`, "activeSessionId": ""},
		},
		{
			"a session that said it is done is not at work",
			then(by(second, &events.SessionCompleted{SessionID: "w2"})),
			want{"activeSessionId": `"w"`},
		},
		{"confirmed by a user", then(done, by(admin, &events.TaskStatusChanged{
			TaskID: "t1",
			To:     events.TaskCompleted,
		})), want{
			"status": `"completed"`, "sessionStatus": `"completed"`,
			"completedAt": ms(6),
		}},
		{
			"reopened: it is no longer said to be done", then(working, done,
				by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskInProgress})),
			want{"status": `"in_progress"`, "sessionStatus": `"working"`, "says": "[" + said(5, "w", "working") +
				"]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.TaskView(s.Task("t1")), c.want)
		})
	}
}

// Shorthands of the stories with queues: w pulls from its own queue or from a named one.
func pulls(id, queue string, queued ...string) given {
	return by(admin, &events.SessionSpawned{
		SessionID: id,
		Name:      "Name of " + id,
		Role:      events.RoleWorker,
		Strategy:  events.StrategyQueue,
		Queue:     queue,
		Queued:    queued,
	})
}

func started(session, queue, task string, attempt int) given {
	return by(SessionSource("p", session), &events.QueueItemStarted{
		Queue:     queue,
		TaskID:    task,
		SessionID: session,
		Attempt:   attempt,
	})
}

func finished(session, queue, task string) given {
	return by(SessionSource("p", session), &events.QueueItemCompleted{Queue: queue, TaskID: task, SessionID: session})
}

func failed(session, queue, task, reason string) given {
	return by(SessionSource("p", session), &events.QueueItemFailed{
		Queue:     queue,
		TaskID:    task,
		SessionID: session,
		Reason:    reason,
	})
}

func skipped(session, queue, task string, held bool) given {
	return by(admin, &events.QueueItemSkipped{
		Queue:     queue,
		TaskID:    task,
		SessionID: session,
		Held:      held,
	})
}

func returned(session, queue, task string, attempt int) given {
	return by("/system", &events.QueueItemReturned{
		Queue:     queue,
		TaskID:    task,
		SessionID: session,
		Attempt:   attempt,
		Reason:    "lost",
	})
}

func quarantined(session, queue, task string, attempt int) given {
	return by("/system", &events.QueueItemQuarantined{
		Queue:     queue,
		TaskID:    task,
		SessionID: session,
		Attempt:   attempt,
		Reason:    "lost",
	})
}

func requeued(queue, task string) given {
	return by(admin, &events.QueueItemRequeued{Queue: queue, TaskID: task})
}

func lost(session string) given {
	return by("/system", &events.SessionLost{SessionID: session, LastHeard: at(-60), Lease: 60_000})
}

func recovered(session string) given {
	return by("/system", &events.SessionRecovered{SessionID: session})
}

func killed(session string) given {
	return by(admin, &events.SessionKilled{SessionID: session, Status: events.SessionStopped})
}

func asks(session, input, question string, options ...string) given {
	return by(SessionSource("p", session), &events.SessionReported{
		SessionID: session,
		Kind:      events.ReportNeedsInput,
		Message:   question,
		InputID:   input,
		Options:   options,
	})
}

func answered(session, input, answer string) given {
	return by(admin, &events.InputAnswered{InputID: input, SessionID: session, Answer: answer})
}

func delivered(session, input string) given {
	return by(SessionSource("p", session), &events.InputDelivered{InputID: input, SessionID: session})
}

func moved(task string, to events.TaskStatus) given {
	return by(admin, &events.TaskStatusChanged{TaskID: task, To: to})
}

func deleted(task string) given { return by(admin, &events.TaskDeleted{TaskID: task}) }

func needs(id string, dependencies ...string) given {
	return by(admin, &events.TaskCreated{
		TaskID:       id,
		Title:        "Title of " + id,
		Priority:     "medium",
		Dependencies: dependencies,
	})
}

// continued returns a function that continues a story, each time from its beginning.
func continued(begun ...given) func(more ...given) []given {
	return func(more ...given) []given { return append(append([]given{}, begun...), more...) }
}

func TestQueueView(t *testing.T) {
	then := continued(
		project(), task("t1"), needs("t2", "t1"), task("t3"),
		by(admin, &events.QueueCreated{Queue: "reviews", TrustReports: true, MaxAttempts: 2}), pulls("w", "w", "t2",
			"t1", "t3"),
	)
	stats := func(total, queued, processing, completed, failed, skipped, quarantined int) string {
		return fmt.Sprintf(
			`{"total":%d,"queued":%d,"processing":%d,"completed":%d,"failed":%d,"skipped":%d,"quarantined":%d}`,
			total, queued, processing, completed, failed, skipped, quarantined)
	}
	for _, c := range []struct {
		name  string
		story []given
		queue string
		want  want
	}{
		{"made by name", then(), "reviews", want{
			"projectId": `"p"`, "name": `"reviews"`, "sessionId": "", "trustReports": "true", "maxAttempts": "2",
			"createdAt": ms(5), "updatedAt": ms(5),
			"createdBy": `"/users/admin"`, "stats": stats(0, 0, 0, 0, 0, 0, 0), "ready": "0", "waiting": "0",
		}},
		{"a session's own", then(), "w", want{
			"name": `"w"`, "sessionId": `"w"`, "trustReports": "false", "maxAttempts": "3", "createdAt": ms(6),
			"updatedAt": ms(6),
			"createdBy": `"/users/admin"`, "stats": stats(3, 3, 0, 0, 0, 0, 0), "ready": "2", "waiting": "1",
		}},
		{
			"a session spawned with a named one has none of its own", then(task("t4"), pulls("w2", "reviews", "t4")),
			"reviews",
			want{"sessionId": "", "stats": stats(1, 1, 0, 0, 0, 0, 0), "updatedAt": ms(8)},
		},
		{
			"pushed", then(by(worker, &events.QueueItemPushed{Queue: "reviews", TaskID: "t2"})), "reviews",
			want{"stats": stats(1, 1, 0, 0, 0, 0, 0), "ready": "0", "waiting": "1", "updatedAt": ms(7)},
		},
		{"started", then(started("w", "w", "t1", 1)), "w", want{
			"stats": stats(3, 2, 1, 0, 0, 0, 0), "ready": "1",
			"waiting": "1", "updatedAt": ms(7),
		}},
		{
			"completed: its task is not", then(started("w", "w", "t1", 1), finished("w", "w", "t1")), "w",
			want{"stats": stats(3, 2, 0, 1, 0, 0, 0), "ready": "1", "waiting": "1"},
		},
		{
			"its task is completed: what waited for it is ready", then(moved("t1", events.TaskCompleted)), "w",
			want{"stats": stats(3, 3, 0, 0, 0, 0, 0), "ready": "2", "waiting": "1", "updatedAt": ms(6)},
		},
		{"failed, skipped, quarantined", then(
			started("w", "w", "t1", 1), failed("w", "w", "t1", "r"), skipped("w", "w", "t2", false), started("w", "w",
				"t3", 1), quarantined("w", "w", "t3", 1),
		), "w", want{"stats": stats(3, 0, 0, 0, 1, 1, 1), "ready": "0", "waiting": "0"}},
		{"all of them again", then(
			started("w", "w", "t1", 1), failed("w", "w", "t1", "r"), skipped("w", "w", "t2", false), started("w", "w",
				"t3", 1), quarantined("w", "w", "t3", 1),
			requeued("w", "t3"), requeued("w", "t2"), requeued("w", "t1"),
		), "w", want{"stats": stats(3, 3, 0, 0, 0, 0, 0), "ready": "2", "waiting": "1", "updatedAt": ms(14)}},
		{"a deleted task is skipped", then(deleted("t3")), "w", want{
			"stats": stats(3, 2, 0, 0, 0, 1, 0), "ready": "1",
			"waiting": "1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.QueueView(s.Queue("p", c.queue)), c.want)
		})
	}
	s := stateOf(t, then()...)
	equalLists(t, "queues", idsOf(s.Queues("p"), func(q *Queue) string { return q.Name }), "reviews", "w")
	if s.Queue("q", "w") != nil || s.Queue("p", "none") != nil || s.Session("w").Queue != "w" {
		t.Error("a queue must belong to its project and be found by its name")
	}
}

func TestItemView(t *testing.T) {
	then := continued(project(), task("t1"), task("t3"), needs("t2", "t1", "t3"), pulls("w", "w", "t2", "t1", "t3"))
	for _, c := range []struct {
		name  string
		story []given
		task  string
		want  want
	}{
		{"queued", then(), "t1", want{
			"taskId": `"t1"`, "title": `"Title of t1"`, "status": `"queued"`, "addedAt": ms(5), "startedAt": "",
			"completedAt": "", "failReason": "",
			"queue": `"w"`, "sessionId": "", "attempts": "0", "returned": "", "waits": "",
		}},
		{"waits for two", then(), "t2", want{"waits": `"waits for t1, t3"`}},
		{
			"one of them is cancelled", then(moved("t1", events.TaskCancelled)), "t2",
			want{"waits": `"waits for t1 (cancelled), t3"`},
		},
		{"one of them is deleted", then(deleted("t3")), "t2", want{"waits": `"waits for t3 (deleted), t1"`}},
		{
			"one that was completed before it was deleted is met", then(moved("t3", events.TaskCompleted),
				deleted("t3")),
			"t2",
			want{"waits": `"waits for t1"`},
		},
		{
			"both are completed", then(moved("t1", events.TaskCompleted), moved("t3", events.TaskCompleted)), "t2",
			want{"waits": ""},
		},
		{"a report alone does not count", then(moved("t3", events.TaskCompleted), report(worker, "w",
			events.ReportComplete, "m", "t1")), "t2", want{"waits": `"waits for t1"`}},
		{"its task needs nothing any more", then(by(admin, &events.TaskUpdated{
			TaskID:       "t2",
			Dependencies: &[]string{},
		})), "t2", want{"waits": ""}},
		{"its task is blocked", then(moved("t1", events.TaskBlocked)), "t1", want{
			"status": `"queued"`,
			"waits":  `"its task is blocked"`,
		}},
		{
			"its task is completed", then(moved("t1", events.TaskCompleted)), "t1",
			want{"waits": `"its task is completed"`},
		},
		{
			"its task is cancelled", then(moved("t1", events.TaskCancelled)), "t1",
			want{"waits": `"its task is cancelled"`},
		},
		{"its task is in progress", then(moved("t1", events.TaskInProgress)), "t1", want{"waits": ""}},
		{"its task was deleted", then(deleted("t1")), "t1", want{
			"status":     `"skipped"`,
			"failReason": `"its task was deleted"`, "completedAt": ms(6), "title": `"Title of t1"`, "waits": "",
		}},
		{
			"its task was deleted while it was held", then(started("w", "w", "t1", 1), deleted("t1")), "t1",
			want{"status": `"processing"`, "sessionId": `"w"`},
		},
		{
			"and given back then", then(started("w", "w", "t1", 1), deleted("t1"), lost("w"), returned("w", "w", "t1",
				1)),
			"t1",
			want{"status": `"skipped"`, "failReason": `"its task was deleted"`},
		},
		{"started", then(started("w", "w", "t1", 1)), "t1", want{
			"status": `"processing"`, "startedAt": ms(6),
			"completedAt": "", "sessionId": `"w"`, "attempts": "1", "waits": "",
		}},
		{"completed", then(started("w", "w", "t1", 1), finished("w", "w", "t1")), "t1", want{
			"status":    `"completed"`,
			"startedAt": ms(6), "completedAt": ms(7), "sessionId": `"w"`, "failReason": "",
		}},
		{"failed", then(started("w", "w", "t1", 1), failed("w", "w", "t1", "no key")), "t1", want{
			"status":      `"failed"`,
			"completedAt": ms(7), "failReason": `"no key"`, "attempts": "1",
		}},
		{
			"skipped while held", then(started("w", "w", "t1", 1), skipped("w", "w", "t1", true)), "t1",
			want{"status": `"skipped"`, "completedAt": ms(7), "sessionId": `"w"`, "attempts": "1"},
		},
		{"skipped in the line", then(skipped("w", "w", "t1", false)), "t1", want{
			"status": `"skipped"`, "startedAt": "",
			"completedAt": ms(6), "sessionId": `"w"`, "attempts": "0",
		}},
		{"skipped by a user", then(skipped("", "w", "t1", false)), "t1", want{"status": `"skipped"`, "sessionId": ""}},
		{"given back", then(started("w", "w", "t1", 1), lost("w"), returned("w", "w", "t1", 1)), "t1", want{
			"status": `"queued"`, "startedAt": "", "returned": "true", "attempts": "1", "sessionId": `"w"`,
			"addedAt": ms(5), "waits": "",
		}},
		{"started again", then(started("w", "w", "t1", 1), lost("w"), returned("w", "w", "t1", 1), recovered("w"),
			started("w", "w", "t1", 2)), "t1", want{
			"status": `"processing"`, "startedAt": ms(10), "returned": "",
			"attempts": "2",
		}},
		{
			"quarantined", then(started("w", "w", "t1", 3), lost("w"), quarantined("w", "w", "t1", 3)), "t1",
			want{
				"status": `"quarantined"`, "completedAt": ms(8), "failReason": `"its session is lost"`,
				"attempts": "3", "sessionId": `"w"`, "returned": "",
			},
		},
		{"and queued again", then(started("w", "w", "t1", 3), lost("w"), quarantined("w", "w", "t1", 3),
			requeued("w", "t1")), "t1", want{
			"status": `"queued"`, "startedAt": "", "completedAt": "", "failReason": "", "attempts": "0", "returned": "",
			"addedAt": ms(5),
		}},
		{
			"given back, failed and queued again: not at the front", then(started("w", "w", "t1", 1), returned("w", "w",
				"t1", 1), started("w", "w", "t1", 2), failed("w", "w", "t1", ""), requeued("w", "t1")), "t1",
			want{"returned": "", "attempts": "0"},
		},
		{
			"given back, and another item moved before it", then(started("w", "w", "t1", 1), lost("w"),
				returned("w", "w", "t1", 1), by(admin, &events.QueueItemMoved{Queue: "w", TaskID: "t2", Before: "t1"})),
			"t1",
			want{"returned": "true", "attempts": "1"},
		},
		{
			"moved before one that was given back", then(started("w", "w", "t1", 1), lost("w"),
				returned("w", "w", "t1", 1), by(admin, &events.QueueItemMoved{Queue: "w", TaskID: "t2", Before: "t1"})),
			"t2",
			want{"returned": "", "attempts": "0"},
		},
		{
			"given back, and moved to the end", then(started("w", "w", "t1", 1), lost("w"),
				returned("w", "w", "t1", 1), by(admin, &events.QueueItemMoved{Queue: "w", TaskID: "t1"})),
			"t1",
			want{"returned": "true", "attempts": "1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			q := s.Queue("p", "w")
			match(t, s.ItemView(q, s.Item("p", "w", c.task)), c.want)
		})
	}

	trusting := continued(project(), task("t1"), needs("t2", "t1"), by(admin, &events.QueueCreated{
		Queue:        "a",
		TrustReports: true, MaxAttempts: 3,
	}), pulls("w", "a", "t2"), spawn("w2", "t1"))
	for _, c := range []struct {
		name  string
		story []given
		waits string
	}{
		{"nothing is said", trusting(), "waits for t1"},
		{"it is said to be done", trusting(report(second, "w2", events.ReportComplete, "m", "t1")), ""},
		{"another says otherwise, later", trusting(report(second, "w2", events.ReportComplete, "m", "t1"),
			report(worker, "w", events.ReportProgress, "m", "t1")), "waits for t1"},
		{"that other has ended", trusting(report(second, "w2", events.ReportComplete, "m", "t1"), report(worker, "w",
			events.ReportProgress, "m", "t1"), killed("w")), ""},
		{"it is reopened", trusting(report(second, "w2", events.ReportComplete, "m", "t1"),
			moved("t1", events.TaskInProgress)), "waits for t1"},
		{"said to be done, and deleted", trusting(report(second, "w2", events.ReportComplete, "m", "t1"),
			deleted("t1")), "waits for t1 (deleted)"},
		{"said to be done, and cancelled", trusting(report(second, "w2", events.ReportComplete, "m", "t1"),
			moved("t1", events.TaskCancelled)), ""},
	} {
		t.Run("where reports are trusted: "+c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			q := s.Queue("p", "a")
			if got := shownItems(s, q)[0].Waits; got != c.waits {
				t.Errorf("the item waits for %q, want %q", got, c.waits)
			}
			if top, _ := s.Top(q); (top != nil) != (c.waits == "") {
				t.Errorf("the top item is %v", top)
			}
		})
	}
}

// The order of a queue, and its next item.
func TestTop(t *testing.T) {
	then := continued(project(), task("t1"), task("t3"), needs("t2", "t1"), pulls("w", "w", "t2", "t1", "t3"),
		pulls("w2", "w"))
	for _, c := range []struct {
		name   string
		story  []given
		items  []string
		top    string
		passed int
	}{
		{"the first that may", then(), []string{"t2", "t1", "t3"}, "t1", 1},
		{"one is held", then(started("w", "w", "t1", 1)), []string{"t2", "t1", "t3"}, "t3", 1},
		{"what is given back is before all", then(started("w", "w", "t1", 1), started("w2", "w", "t3", 1), killed("w2"),
			returned("w2", "w", "t3", 1)), []string{"t2", "t1", "t3"}, "t3", 0},
		{"among what is given back, by push", then(
			started("w", "w", "t1", 1), started("w2", "w", "t3", 1), killed("w2"), returned("w2", "w", "t3", 1),
			killed("w"), returned("w", "w", "t1", 1),
		), []string{"t2", "t1", "t3"}, "t1", 0},
		{"given back, and waits", then(started("w", "w", "t1", 1), returned("w", "w", "t1", 1),
			moved("t1", events.TaskBlocked)), []string{"t2", "t1", "t3"}, "t3", 2},
		{
			"queued again is last", then(skipped("w", "w", "t1", false), requeued("w", "t1")),
			[]string{"t2", "t3", "t1"},
			"t3", 1,
		},
		{
			"all wait", then(skipped("w", "w", "t1", false), skipped("w", "w", "t3", false)),
			[]string{"t2", "t1", "t3"},
			"", 1,
		},
		{"nothing is left", then(moved("t1", events.TaskCompleted), skipped("w", "w", "t2", false), skipped("w", "w",
			"t1", false), skipped("w", "w", "t3", false)), []string{"t2", "t1", "t3"}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			q := s.Queue("p", "w")
			var items []string
			for _, view := range shownItems(s, q) {
				items = append(items, view.TaskID)
			}
			equalLists(t, "items", items, c.items...)
			top, passed := s.Top(q)
			got := ""
			if top != nil {
				got = top.TaskID
			}
			if got != c.top || passed != c.passed {
				t.Errorf("the top item is %q after %d, want %q after %d", got, passed, c.top, c.passed)
			}
		})
	}

	s := stateOf(t, then(started("w2", "w", "t3", 1), started("w", "w", "t1", 1), finished("w", "w", "t1"))...)
	task := func(i *Item) string { return i.TaskID }
	equalLists(t, "held", idsOf(s.Held(), task), "t3")
	if s.Holds(s.Session("w")) != nil || s.Holds(s.Session("w2")).TaskID != "t3" {
		t.Error("a session must hold what it started and has not finished")
	}
	if !s.HeldOnce("w", "t1") || !s.HeldOnce("w2", "t3") || s.HeldOnce("w", "t3") || s.HeldOnce("w2", "t2") {
		t.Error("a session must have held what it started once")
	}
	s = stateOf(t, then(started("w2", "w", "t3", 1), started("w", "w", "t1", 1))...)
	equalLists(t, "held, by their start", idsOf(s.Held(), task), "t3", "t1")
}

// The effects of queues on the two statuses (docs/contract.md, "queue and statuses").
func TestTwoStatusesOfQueues(t *testing.T) {
	then := continued(project(), task("t1"), pulls("w", "w", "t1"))
	begun := continued(then(started("w", "w", "t1", 1))...)
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"queued: nothing moves", then(), want{
			"status": `"todo"`, "sessionStatus": "", "updatedAt": ms(2),
			"sessionIds": "[]", "queues": `[{"queue":"w","status":"queued"}]`,
		}},
		{"started: in progress, and working", begun(), want{
			"status": `"in_progress"`, "sessionStatus": `"working"`, "saidBy": `"w"`, "startedAt": ms(4),
			"updatedAt": ms(4), "sessionIds": `["w"]`, "activeSessionId": `"w"`,
			"says":   `[{"sessionId":"w","status":"working","at":` + ms(4) + `,"sequence":4}]`,
			"queues": `[{"queue":"w","status":"processing","sessionId":"w"}]`,
		}},
		{
			"started in progress: it stays there", then(moved("t1", events.TaskInProgress), started("w", "w", "t1", 1)),
			want{"status": `"in_progress"`, "startedAt": ms(4), "sessionStatus": `"working"`},
		},
		{"completed: said, and not confirmed", begun(finished("w", "w", "t1")), want{
			"status":        `"in_progress"`,
			"sessionStatus": `"completed"`, "completedAt": "null",
			"queues": `[{"queue":"w","status":"completed","sessionId":"w"}]`,
		}},
		{"failed", begun(failed("w", "w", "t1", "r")), want{"status": `"in_progress"`, "sessionStatus": `"failed"`}},
		{
			"skipped while held: the word is taken back", begun(skipped("w", "w", "t1", true)),
			want{"status": `"in_progress"`, "sessionStatus": "", "says": "", "updatedAt": ms(5)},
		},
		{"skipped in the line: no word is touched", then(report(worker, "w", events.ReportBlocked, "m", "t1"),
			skipped("w", "w", "t1", false)), want{"status": `"todo"`, "sessionStatus": `"blocked"`}},
		{
			"given back: the word is taken back", begun(lost("w"), returned("w", "w", "t1", 1)),
			want{
				"status": `"in_progress"`, "sessionStatus": "",
				"queues": `[{"queue":"w","status":"queued","sessionId":"w"}]`,
			},
		},
		{
			"quarantined: the word is taken back", begun(lost("w"), quarantined("w", "w", "t1", 3)),
			want{"status": `"in_progress"`, "sessionStatus": ""},
		},
		{"given back: another's word stays", begun(spawn("w2", "t1"), report(second, "w2", events.ReportBlocked, "m",
			"t1"), lost("w"), returned("w", "w", "t1", 1)), want{"sessionStatus": `"blocked"`, "saidBy": `"w2"`}},
		{
			"queued again: the word stays", begun(failed("w", "w", "t1", "r"), requeued("w", "t1")),
			want{"sessionStatus": `"failed"`},
		},
		{"in two queues, by name", begun(by(admin, &events.QueueCreated{Queue: "a", MaxAttempts: 3}),
			by(admin, &events.QueueItemPushed{Queue: "a", TaskID: "t1"})), want{
			"queues": `[{"queue":"a","status":"queued"},{"queue":"w","status":"processing","sessionId":"w"}]`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.TaskView(s.Task("t1")), c.want)
		})
	}
	s := stateOf(t, then(started("w", "w", "t1", 1))...)
	if x := s.Task("t1"); x.StatusSequence != 4 || x.StatusAt != at(4) {
		t.Errorf("the start must change the status: %+v", *x)
	}
	s = stateOf(t, then(moved("t1", events.TaskInProgress), started("w", "w", "t1", 1))...)
	if x := s.Task("t1"); x.StatusSequence != 4 || x.StatusAt != at(4) {
		t.Errorf("the start must not change the status: %+v", *x)
	}
}

func TestSessionOfQueue(t *testing.T) {
	spawned := by(admin, &events.SessionSpawned{
		SessionID: "w",
		Name:      "W",
		Role:      events.RoleWorker,
		Strategy:  events.StrategyQueue,
		Queue:     "w",
		Queued:    []string{"t1"},
		Timeout:   60_000,
	})
	then := continued(project(), task("t1"), spawned)
	deadline := fmt.Sprint(at(3) + 60_000)
	for _, c := range []struct {
		name  string
		story []given
		want  want
		gone  string
	}{
		{"spawned", then(), want{
			"queue": `"w"`, "item": "", "deadline": deadline, "lostAt": "",
			"status": `"spawning"`,
		}, ""},
		{"that holds an item", then(started("w", "w", "t1", 1)), want{
			"item": `"t1"`, "status": `"running"`,
			"lastActivity": ms(4),
		}, ""},
		{
			"finished it", then(started("w", "w", "t1", 1), finished("w", "w", "t1")),
			want{"item": "", "queue": `"w"`},
			"",
		},
		{"skipped it", then(started("w", "w", "t1", 1), skipped("w", "w", "t1", true)), want{"item": ""}, ""},
		{
			"lost: a mark, not an end, and no sign of life", then(started("w", "w", "t1", 1), lost("w")),
			want{"lostAt": ms(5), "status": `"running"`, "endedAt": "", "lastActivity": ms(4), "item": `"t1"`},
			"lost",
		},
		{
			"lost, and its item given back", then(started("w", "w", "t1", 1), lost("w"), returned("w", "w", "t1", 1)),
			want{"lostAt": ms(5), "item": ""},
			"lost",
		},
		{"heard again", then(started("w", "w", "t1", 1), lost("w"), recovered("w")), want{
			"lostAt":       "",
			"lastActivity": ms(6), "item": `"t1"`,
		}, ""},
		{"out of time", then(started("w", "w", "t1", 1), by("/system", &events.SessionTimedOut{
			SessionID: "w",
			Deadline:  at(3) + 60_000,
		})), want{
			"status": `"failed"`, "endReason": `"timed out"`, "endedAt": ms(5), "completedAt": ms(5),
			"deadline": deadline, "item": `"t1"`,
		}, "failed"},
		{"killed", then(killed("w")), want{"status": `"stopped"`}, "stopped"},
		{
			"said that it is done", then(by(worker, &events.SessionCompleted{SessionID: "w"})),
			want{"status": `"completed"`},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.Session("w").View(), c.want)
			if gone := s.Gone("w"); gone != c.gone {
				t.Errorf("gone: %q, want %q", gone, c.gone)
			}
		})
	}
	s := stateOf(t, then(lost("w"), recovered("w"), lost("w"))...)
	if x := s.Session("w"); x.Losses != 2 || x.LostAt != at(6) || x.Gone.Event == "" || !x.Lost() {
		t.Errorf("lost twice: %+v", *x)
	}
	id := func(x *Session) string { return x.ID }
	timed := func(id string) given {
		return by(admin, &events.SessionSpawned{
			SessionID: id,
			Name:      id,
			Role:      events.RoleWorker,
			Timeout:   1,
		})
	}
	s = stateOf(t, then(spawn("x"), timed("w2"), timed("y"), killed("w2"))...)
	equalLists(t, "deadlines", idsOf(s.Deadlines(), id), "w", "y")
	s = stateOf(t, then(by(admin, &events.SessionDeleted{SessionID: "w"}))...)
	if s.Gone("w") != "deleted" || s.Gone("never") != "deleted" || len(idsOf(s.Deadlines(), id)) != 0 {
		t.Error("a deleted session must be gone, and have no deadline")
	}
}

func TestInputView(t *testing.T) {
	full := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportNeedsInput,
		Message:   "Which?",
		TaskIDs:   []string{"t1"},
		InputID:   "i1",
		Options:   []string{"yes", "no"},
		Blobs:     events.Blobs{"message": "sha256-1"},
	})
	then := continued(project(), task("t1"), spawn("w", "t1"), full)
	now := at(100)
	waited := func(from, to int) string { return fmt.Sprint(at(to) - at(from)) }
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"asked", then(), want{
			"id": `"i1"`, "projectId": `"p"`, "sessionId": `"w"`, "taskIds": `["t1"]`, "question": `"Which?"`,
			"blob": `"sha256-1"`, "options": `["yes","no"]`, "status": `"open"`,
			"answer": "", "answeredBy": "", "askedAt": ms(4), "answeredAt": "null", "deliveredAt": "null",
			"waited": waited(4, 100),
		}},
		{"answered", then(answered("w", "i1", "yes")), want{
			"status": `"answered"`, "answer": `"yes"`,
			"answeredBy": `"/users/admin"`, "answeredAt": ms(5), "deliveredAt": "null", "waited": waited(4, 5),
		}},
		{"delivered", then(answered("w", "i1", "yes"), delivered("w", "i1")), want{
			"status":     `"delivered"`,
			"answeredAt": ms(5), "deliveredAt": ms(6), "waited": waited(4, 5),
		}},
		{"void when its session ends", then(killed("w")), want{"status": `"void"`, "waited": waited(4, 5)}},
		{
			"void when its session is out of time", then(by("/system", &events.SessionTimedOut{SessionID: "w"})),
			want{"status": `"void"`},
		},
		{
			"void when its session is deleted", then(by(admin, &events.SessionDeleted{SessionID: "w"})),
			want{"status": `"void"`, "waited": waited(4, 5)},
		},
		{"open while its session is lost", then(lost("w")), want{"status": `"open"`}},
		{
			"open when its session said that it is done", then(by(worker, &events.SessionCompleted{SessionID: "w"})),
			want{"status": `"open"`},
		},
		{
			"answered before its session ended", then(answered("w", "i1", "yes"), killed("w")),
			want{"status": `"answered"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.InputView(s.Input("i1"), now), c.want)
		})
	}
	bare := stateOf(t, project(), spawn("w"), asks("w", "i1", "Which?"))
	match(t, bare.InputView(bare.Input("i1"), at(0)), want{"taskIds": "[]", "options": "[]", "blob": "", "waited": "0"})

	s := stateOf(t, project(), spawn("w"), spawn("w2"), asks("w", "i1", "1"), asks("w2", "i2", "2"), asks("w", "i3",
		"3"), asks("w", "i4", "4"), answered("w", "i4", "a"), answered("w", "i1", "b"))
	id := func(x *Input) string { return x.ID }
	equalLists(t, "questions", idsOf(s.Inputs("p"), id), "i1", "i2", "i3", "i4")
	equalLists(t, "unanswered", idsOf(unanswered(s, "p"), id), "i2", "i3")
	equalLists(t, "undelivered, by their answers", s.Undelivered("w"), "i4", "i1")
	apply(t, s, delivered("w", "i4"))
	apply(t, s, killed("w2"))
	equalLists(t, "undelivered", s.Undelivered("w"), "i1")
	equalLists(t, "a void question asks nobody", idsOf(unanswered(s, "p"), id), "i3")
}

// The sessions named in the event are told that a task is open again; the reason is that of the task.
func TestNotices(t *testing.T) {
	moved := func(from, to events.TaskStatus, reason, mail string) given {
		return by(admin, &events.TaskStatusChanged{
			TaskID: "t1",
			From:   from,
			To:     to,
			Reason: reason,
			Notice: &events.Notice{MailID: mail, SessionIDs: []string{"v", "w"}},
		})
	}
	s := stateOf(t, project(), task("t1"), spawn("v", "t1"), spawn("w", "t1"),
		moved(events.TaskCompleted, events.TaskInProgress, "the tests fail", "m1"))
	todo := &events.StatusChange{From: events.TaskBlocked, To: events.TaskTodo}
	apply(t, s, by(admin, &events.TaskUpdated{
		TaskID: "t1",
		Status: todo,
		Notice: &events.Notice{MailID: "m2", SessionIDs: []string{"w"}},
	}))
	equalLists(t, "what waits for v", s.Undelivered("v"), "m1")
	equalLists(t, "what waits for w", s.Undelivered("w"), "m1", "m2")
	reopened, unblocked := s.Session("w").Message("m1"), s.Session("w").Message("m2")
	if reopened.Notice != NoticeReopened || reopened.About != "t1" || reopened.Text != "the tests fail" {
		t.Errorf("%+v: %q", reopened, reopened.Text)
	}
	if unblocked.Notice != NoticeUnblocked || unblocked.From != admin || unblocked.Text != "" {
		t.Errorf("%+v: %q", unblocked, unblocked.Text)
	}
	apply(t, s, delivered("w", "m1"))
	equalLists(t, "what still waits for w", s.Undelivered("w"), "m2")
	equalLists(t, "what still waits for v", s.Undelivered("v"), "m1")
}

// Messages and answers wait for their session in order of arrival, until it has been shown them.
func TestMail(t *testing.T) {
	message := func(id, about string) given {
		return by(admin, &events.SessionMessaged{
			SessionID: "w",
			MessageID: id,
			Text:      "Go on with " + id,
			About:     about,
		})
	}
	s := stateOf(t, project(), task("t1"), spawn("w", "t1"), asks("w", "i1", "1"), message("m1", "t1"),
		answered("w", "i1", "a"), message("m2", ""))
	heard := s.Session("w").LastActivity
	equalLists(t, "what waits", s.Undelivered("w"), "m1", "i1", "m2")
	if heard >= at(5) {
		t.Error("a session that got a message counts as heard")
	}
	first := s.Session("w").Message("m1")
	if first == nil || first.From != admin || first.Text != "Go on with m1" || first.About != "t1" ||
		first.Sequence != 5 {
		t.Errorf("%+v", first)
	}
	before := s.Session("w")
	apply(t, s, delivered("w", "m1"))
	equalLists(t, "what still waits", s.Undelivered("w"), "i1", "m2")
	if s.Session("w").Message("m1") != nil || before.Message("m1") == nil || before.Message("m2") == nil {
		t.Error("the message is still waiting, or an older view lost it")
	}
	apply(t, s, delivered("w", "m2"))
	if s.Session("w").Mail != nil {
		t.Error("an empty mailbox differs from that of a session to which nobody ever wrote")
	}
	var shown []string
	for _, e := range sessionEntries(s, "w") {
		if e.Type == "session_message" {
			shown = append(shown, e.Message)
		}
	}
	equalLists(t, "on the timeline", shown, "Go on with m1", "Go on with m2")
	shown = nil
	for _, e := range taskEntries(s, "t1") {
		if e.Type == "session_message" {
			shown = append(shown, e.Message)
		}
	}
	equalLists(t, "on the timeline of the task that it is about", shown, "Go on with m1")
}

func TestTokenView(t *testing.T) {
	inNone := func(data events.Data) given { return given{by: admin, data: data, project: nowhere} }
	made := inNone(&events.TokenCreated{
		Name:       "ci",
		Kind:       events.TokenReadOnly,
		ProjectIDs: []string{"p"},
		Generation: 1,
	})
	other := inNone(&events.TokenCreated{Name: "eyes", Kind: events.TokenAuditor, Generation: 1})
	revoked := inNone(&events.TokenRevoked{Name: "ci", Generation: 1})
	for _, c := range []struct {
		name  string
		story []given
		want  want
		live  bool
	}{
		{"made", []given{made}, want{
			"name": `"ci"`, "kind": `"read-only"`, "projectIds": `["p"]`, "generation": "1",
			"createdAt": ms(1), "createdBy": `"/users/admin"`, "revokedAt": "null",
		}, true},
		{"revoked", []given{made, revoked}, want{
			"kind": `"read-only"`, "generation": "1", "createdAt": ms(1),
			"revokedAt": ms(2),
		}, false},
		{"made again", []given{made, other, revoked, inNone(&events.TokenCreated{
			Name: "ci", Kind: events.TokenAdmin,
			Generation: 2,
		})}, want{
			"kind": `"admin"`, "projectIds": "[]", "generation": "2", "createdAt": ms(4),
			"revokedAt": "null",
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.Token("ci").View(), c.want)
			if s.Token("ci").Live() != c.live {
				t.Errorf("the token is valid: %t", !c.live)
			}
		})
	}
	s := stateOf(t, made, other, revoked, inNone(&events.TokenCreated{
		Name: "ci", Kind: events.TokenAdmin,
		Generation: 2,
	}))
	kid := given{by: "/users/eyes", data: &events.TokenCreated{Name: "kid", Generation: 1}, project: nowhere}
	again := inNone(&events.TokenRevoked{Name: "ci", Generation: 1, Children: []string{"kid"}})
	kept := stateOf(t, made, kid, revoked, again)
	match(t, kept.Token("ci").View(), want{"revokedAt": ms(3)})
	match(t, kept.Token("kid").View(), want{"revokedAt": ms(4)})
	equalLists(t, "tokens", idsOf(s.Tokens(), func(x *Token) string { return x.Name }), "ci", "eyes")
	s = stateOf(t, project(), spawn("w"), by(admin, &events.TokenRevoked{SessionID: "w", Generation: 2}))
	if x := s.Session("w"); x.Generation != 2 || x.Ended() || s.Token("w") != nil {
		t.Errorf("a session whose secret is revoked must live: %+v", *x.SessionFields)
	}
}

func TestProjectStatus(t *testing.T) {
	s := stateOf(
		t, project(), task("t1"), task("t2"), task("t3"), spawn("w", "t1", "t2"), report(worker, "w",
			events.ReportComplete, "m", "t1", "t2"),
		by(admin, &events.TaskStatusChanged{TaskID: "t2", To: events.TaskCompleted}), spawn("w2", "t3"),
		by(admin, &events.SessionKilled{SessionID: "w2", Status: events.SessionEndFailed}),
	)
	match(t, s.ProjectStatus(s.Project("p")), want{
		"project.id": `"p"`, "tasks": `{"completed":1,"in_progress":2}`, "says": `{"completed":2}`,
		"unconfirmed": `["t1"]`, "sessions": `{"failed":1,"running":1}`,
		"lost": "[]", "queues": "[]", "inbox": "2",
		"said": `[{"taskId":"t2","title":"Title of t2","status":"completed","sessionStatus":"completed",` +
			`"saidBy":"w","saidByName":"w"}]`,
		"toConfirm": `[{"taskId":"t1","title":"Title of t1","status":"in_progress","sessionStatus":"completed",` +
			`"saidBy":"w","saidByName":"w"}]`,
	})
	s = stateOf(t, project(), task("t1"), spawn("w", "t1"), report(worker, "w", events.ReportBlocked, "m", "t1"))
	match(t, s.ProjectStatus(s.Project("p")), want{
		"said": `[{"taskId":"t1","title":"Title of t1","status":"in_progress","sessionStatus":"blocked",` +
			`"saidBy":"w","saidByName":"w"}]`,
		"toConfirm": "[]",
	})
	s = stateOf(t, project(), task("t1"), pulls("w", "w", "t1"), spawn("w2"), lost("w"), lost("w2"), killed("w2"))
	match(t, s.ProjectStatus(s.Project("p")), want{"lost": `["w"]`, "inbox": "2"})
	if status := s.ProjectStatus(s.Project("p")); len(status.Queues) != 1 ||
		status.Queues[0] != s.QueueView(s.Queue("p", "w")) {
		t.Errorf("its queues are %+v", status.Queues)
	}
}

// TestProjectStatusIsBounded: each list of a status has a maximum length, and the others are counted.
func TestProjectStatusIsBounded(t *testing.T) {
	const all = StatusListed + 3
	story := []given{project()}
	for i := range all {
		n := strconv.Itoa(i)
		story = append(story, task("t"+n), pulls("s"+n, "s"+n, "t"+n), lost("s"+n))
		says := report("/projects/p/sessions/w"+n, "w"+n, events.ReportComplete, "m", "t"+n)
		story = append(story, spawn("w"+n, "t"+n), says)
		// The reports on these tasks do not say that they are done, and the first task is completed: it comes last, and
		// is cut.
		story = append(story, task("u"+n), spawn("v"+n, "u"+n))
		story = append(story, spawn("h"+n), report("/projects/p/sessions/h"+n, "h"+n, events.ReportBlocked, "no key"))
		story = append(story, report("/projects/p/sessions/v"+n, "v"+n, events.ReportBlocked, "m", "u"+n))
		if i == 0 {
			story = append(story, by(admin, &events.TaskStatusChanged{TaskID: "u0", To: events.TaskCompleted}))
		}
	}
	s := stateOf(t, story...)
	status := s.ProjectStatus(s.Project("p"))
	for name, got := range map[string][2]int{
		"unconfirmed": {len(status.Unconfirmed), status.UnconfirmedMore},
		"to confirm":  {len(status.ToConfirm), status.UnconfirmedMore},
		"said":        {len(status.Said), status.SaidMore},
		"lost":        {len(status.Lost), status.LostMore},
		"by sessions": {len(status.SaidBySessions), status.SaidBySessionsMore},
		"queues":      {len(status.Queues), status.QueuesMore},
	} {
		if got != [2]int{StatusListed, 3} {
			t.Errorf("%s: %d are listed and %d counted", name, got[0], got[1])
		}
	}
	if status.Said[0].TaskID != "u1" {
		t.Errorf("a task that is already completed comes first: %+v", status.Said[0])
	}
}

// TestTreesAreBounded: trees show a limited number of tasks below their roots, and count the others where they omit
// them.
func TestTreesAreBounded(t *testing.T) {
	story := []given{project()}
	for _, id := range []string{"a", "b", "c"} {
		story = append(story, task(id))
	}
	below := func(parent string, ids ...string) {
		for _, id := range ids {
			story = append(story, by(admin, &events.TaskCreated{TaskID: id, ParentID: parent, Title: id}))
		}
	}
	below("a", "a1", "a2")
	below("a1", "a11", "a12")
	below("b", "b1")
	s := stateOf(t, story...)
	for most, want := range map[int]string{
		0: "a+4 b+1 c", 1: "a+1(a1+2) b+1 c", 2: "a(a1+2 a2) b+1 c", 3: "a(a1+1(a11) a2) b+1 c",
		4: "a(a1(a11 a12) a2) b+1 c", 5: "a(a1(a11 a12) a2) b(b1) c",
	} {
		var draw func(trees []TaskTree) string
		draw = func(trees []TaskTree) string {
			var drawn []string
			for _, tree := range trees {
				text := tree.ID
				if tree.Below > 0 {
					text += "+" + strconv.Itoa(tree.Below)
				}
				if len(tree.Children) > 0 {
					text += "(" + draw(tree.Children) + ")"
				}
				drawn = append(drawn, text)
			}
			return strings.Join(drawn, " ")
		}
		trees := s.TaskTrees("p", most)
		if got := draw(trees); got != want {
			t.Errorf("with %d: %s, want %s", most, got, want)
		}
		if p := trees[0].Progress; p == nil || p.Total != 3 {
			t.Errorf("with %d the progress is %+v", most, p)
		}
	}
}

// lines draws the entries of a timeline: type, session, task, and text.
func lines(entries []*Entry) []string {
	var drawn []string
	for _, e := range entries {
		line := fmt.Sprintf("%s %s %s/%s", e.ID(), e.Type, e.SessionID, e.TaskID)
		if e.Apart {
			line = fmt.Sprintf("%s %s %s/ about %s", e.ID(), e.Type, e.SessionID, e.TaskID)
		}
		if e.Text() != "" {
			line += ": " + e.Text()
		}
		if e.Data != nil {
			line += " " + string(e.Data)
		}
		if e.Bare {
			line += " bare"
		}
		if e.Late {
			line += " late"
		}
		drawn = append(drawn, line)
	}
	return drawn
}

func TestTimelines(t *testing.T) {
	begun := []given{
		project(), task("t1"), task("t2"), spawn("w", "t1", "t2"),
		by(admin, &events.SessionRegistered{SessionID: "o", Created: &events.SessionCreated{
			Name: "o",
			Role: events.RoleOrchestrator, Status: events.SessionRunning,
		}}),
	}
	then := func(more ...given) []given { return append(append([]given{}, begun...), more...) }
	queue := continued(then(pulls("x", "x", "t1"))...)
	said := time.Date(2026, 3, 1, 11, 0, 0, 5e6, time.UTC)
	late := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportError,
		Message:   "m",
		TaskIDs:   []string{"t1"},
		Late:      true,
	})
	late.said = said
	file := by(worker, &events.SessionFileTracked{SessionID: "w", File: "a.go", TaskID: "t1"})
	waited := by(worker, &events.SessionFileTracked{SessionID: "w", File: "a.go", TaskID: "gone"})
	waited.said = said
	for _, c := range []struct {
		name    string
		story   []given
		session string // whose newest lines are requested
		want    []string
		onTask  string // of this task
		task    []string
	}{
		{
			"spawned", then(), "w",
			[]string{
				"evt_4 session_started w/: Session created",
				"evt_4_1 task_started w/t1: Started working on task",
				"evt_4_2 task_started w/t2: Started working on task",
			},
			"t2",
			[]string{"evt_4_2 task_started w/t2: Started working on task"},
		},
		{
			"a report on two tasks stands on each", then(report(worker, "w", events.ReportProgress, "m", "t1", "t2")),
			"w",
			[]string{"evt_6 progress w/t1: m", "evt_6_1 progress w/t2: m"},
			"t2",
			[]string{"evt_6_1 progress w/t2: m"},
		},
		{
			"a report without a task", then(report(worker, "w", events.ReportBlocked, "m")), "w",
			[]string{"evt_6 task_blocked w/: m"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"complete", then(report(worker, "w", events.ReportComplete, "m", "t1")), "w",
			[]string{"evt_6 task_completed w/t1: m"},
			"t1",
			[]string{"evt_6 task_completed w/t1: m"},
		},
		{
			"error", then(report(worker, "w", events.ReportError, "m", "t1")), "w",
			[]string{"evt_6 error w/t1: m"},
			"t1",
			[]string{"evt_6 error w/t1: m"},
		},
		{
			"needs input", then(report(worker, "w", events.ReportNeedsInput, "m", "t1")), "w",
			[]string{"evt_6 needs_input w/t1: m"},
			"t1",
			[]string{"evt_6 needs_input w/t1: m"},
		},
		{
			"a report without words stands nowhere", then(report(worker, "w", events.ReportProgress, "", "t1")), "w",
			[]string{"evt_4_2 task_started w/t2: Started working on task"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"a late report", then(late), "w",
			[]string{"evt_6 error w/t1: m late"},
			"t1",
			[]string{"evt_6 error w/t1: m late"},
		},
		{
			"a status moved by an orchestrator is on its session", then(by(orch, &events.TaskStatusChanged{
				TaskID: "t1",
				To:     events.TaskBlocked, Reason: "r",
			})), "o",
			[]string{"evt_6 task_status_changed o/t1: Status changed to blocked: r"},
			"t1",
			[]string{"evt_6 task_status_changed o/t1: Status changed to blocked: r"},
		},
		{
			"a status moved by a user is on the task", then(by(admin, &events.TaskStatusChanged{
				TaskID: "t1",
				To:     events.TaskCompleted,
			})), "w",
			[]string{"evt_4_2 task_started w/t2: Started working on task"},
			"t1",
			[]string{"evt_6 task_status_changed /t1: Status changed to completed"},
		},
		{
			"reopened: the reason reaches the session", then(by(orch, &events.TaskStatusChanged{
				TaskID: "t1",
				To:     events.TaskInProgress, Reason: "r",
			})), "w",
			[]string{"evt_6_1 task_reopened w/ about t1: r"},
			"t1",
			[]string{"evt_6 task_status_changed o/t1: Status changed to in_progress: r"},
		},
		{
			"updated fields are named", then(by(orch, &events.TaskUpdated{
				TaskID: "t1",
				Title:  new("x"),
				Model:  new("y"),
				Status: &events.StatusChange{To: events.TaskBlocked},
			})), "o",
			[]string{"evt_6_1 task_status_changed o/t1: Status changed to blocked"},
			"t1",
			[]string{
				"evt_6 task_updated /t1: title, model",
				"evt_6_1 task_status_changed o/t1: Status changed to blocked",
			},
		},
		{
			"a task made by a session", then(by(worker, &events.TaskCreated{TaskID: "t3", Title: "new"})), "w",
			[]string{"evt_6 task_created w/t3: new"},
			"t3",
			[]string{"evt_6 task_created w/t3: new"},
		},
		{
			"a file", then(file), "w",
			[]string{`evt_6 file_modified w/t1 {"file":"a.go","timestamp":"2026-03-01T12:00:06.000Z"} bare`},
			"t1",
			[]string{`evt_6 file_modified w/t1 {"file":"a.go","timestamp":"2026-03-01T12:00:06.000Z"} bare`},
		},
		{
			"a file that waited, of a task that is gone", then(waited), "w",
			[]string{`evt_6 file_modified w/ {"file":"a.go","timestamp":"2026-03-01T11:00:00.005Z"} bare`},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"a note", then(by(worker, &events.SessionNoted{
				SessionID: "w",
				Type:      "milestone",
				Message:   "m",
				TaskID:    "t1",
				Data:      json.RawMessage(`{"a":1}`),
			})), "w",
			[]string{`evt_6 milestone w/t1: m {"a":1}`},
			"t1",
			[]string{`evt_6 milestone w/t1: m {"a":1}`},
		},
		{
			"a bare note about a task elsewhere", then(by(worker, &events.SessionNoted{
				SessionID: "w",
				Type:      "n",
				TaskID:    "other",
				Data:      json.RawMessage(`{}`),
			})), "w",
			[]string{`evt_6 n w/ about other {} bare`},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"linked", then(task("t3"), by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t3"})), "w",
			[]string{"evt_7 task_started w/t3: Added task to session"},
			"t3",
			[]string{"evt_7 task_started w/t3: Added task to session"},
		},
		{
			"unlinked",
			then(by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})),
			"w",
			[]string{"evt_6 task_unlinked w/t1: Removed task from session"},
			"t1",
			[]string{"evt_6 task_unlinked w/t1: Removed task from session"},
		},
		{
			"completed", then(by(worker, &events.SessionCompleted{SessionID: "w"})), "w",
			[]string{"evt_6 session_completed w/: Session completed"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"killed", then(by(admin, &events.SessionKilled{
				SessionID: "w", Status: events.SessionEndFailed,
				Reason: "r",
			})),
			"w",
			[]string{"evt_6 session_failed w/: Session failed: r"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"lost", then(by("/system", &events.SessionLost{SessionID: "w", LastHeard: at(6) - 61_999, Lease: 60_000})),
			"w",
			[]string{"evt_6 session_lost w/: Session lost: it was last heard 61 s before"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"heard again", then(lost("w"), recovered("w")), "w",
			[]string{"evt_7 session_recovered w/: Session heard again"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"out of time", then(by("/system", &events.SessionTimedOut{SessionID: "w"})), "w",
			[]string{"evt_6 session_failed w/: Session failed: timed out"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"queued with its session", then(pulls("x", "x", "t2", "t1")), "x",
			[]string{"evt_6 session_started x/: Session created"},
			"t1",
			[]string{"evt_6_2 task_queued /t1: Queued in x"},
		},
		{
			"pushed", queue(by(worker, &events.QueueItemPushed{Queue: "x", TaskID: "t2"})), "x",
			[]string{"evt_6 session_started x/: Session created"},
			"t2",
			[]string{"evt_7 task_queued /t2: Queued in x"},
		},
		{
			"started", queue(started("x", "x", "t1", 1)), "x",
			[]string{"evt_7 task_started x/t1: Started from queue x"},
			"t1",
			[]string{"evt_7 task_started x/t1: Started from queue x"},
		},
		{
			"completed in a queue", queue(started("x", "x", "t1", 1), finished("x", "x", "t1")), "x",
			[]string{"evt_8 task_completed x/t1: Completed in queue x"},
			"t1",
			[]string{"evt_8 task_completed x/t1: Completed in queue x"},
		},
		{
			"failed in a queue", queue(started("x", "x", "t1", 1), failed("x", "x", "t1", "r")), "x",
			[]string{"evt_8 task_failed x/t1: Failed in queue x: r"},
			"t1",
			[]string{"evt_8 task_failed x/t1: Failed in queue x: r"},
		},
		{
			"failed without a reason", queue(started("x", "x", "t1", 1), failed("x", "x", "t1", "")), "x",
			[]string{"evt_8 task_failed x/t1: Failed in queue x"},
			"t1",
			[]string{"evt_8 task_failed x/t1: Failed in queue x"},
		},
		{
			"skipped", queue(skipped("x", "x", "t1", false)), "x",
			[]string{"evt_7 task_skipped x/t1: Skipped in queue x"},
			"t1",
			[]string{"evt_7 task_skipped x/t1: Skipped in queue x"},
		},
		{
			"queued again", queue(skipped("x", "x", "t1", false), requeued("x", "t1")), "x",
			[]string{"evt_7 task_skipped x/t1: Skipped in queue x"},
			"t1",
			[]string{"evt_8 task_queued /t1: Queued again in x"},
		},
		{
			"given back", queue(started("x", "x", "t1", 1), returned("x", "x", "t1", 1)), "x",
			[]string{"evt_8 task_returned x/t1: Back to the front of queue x: its session is lost"},
			"t1",
			[]string{"evt_8 task_returned x/t1: Back to the front of queue x: its session is lost"},
		},
		{
			"quarantined", queue(started("x", "x", "t1", 3), quarantined("x", "x", "t1", 3)), "x",
			[]string{"evt_8 task_quarantined x/t1: Quarantined in queue x after 3 starts: its last session is lost"},
			"t1",
			[]string{"evt_8 task_quarantined x/t1: Quarantined in queue x after 3 starts: its last session is lost"},
		},
		{
			"answered", then(asks("w", "i1", "Which?"), answered("w", "i1", "yes")), "w",
			[]string{"evt_6 needs_input w/: Which?", "evt_7 input_answered w/: Answered: yes"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
		{
			"delivered: nothing is said", then(asks("w", "i1", "Which?"), answered("w", "i1", "yes"), delivered("w",
				"i1")), "w",
			[]string{"evt_7 input_answered w/: Answered: yes"},
			"t1",
			[]string{"evt_4_1 task_started w/t1: Started working on task"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			newest := func(entries []*Entry, n int) []string { return lines(entries[len(entries)-n:]) }
			equalLists(t, "session", newest(sessionEntries(s, c.session), len(c.want)), c.want...)
			equalLists(t, "task", newest(taskEntries(s, c.onTask), len(c.task)), c.task...)
		})
	}

	s := stateOf(t, then(late)...)
	e := taskEntries(s, "t1")[2].View()
	if e.OccurredAt != events.Millis(said.UnixMilli()) || e.Timestamp != events.Millis(at(6)) ||
		e.Sequence != 6 || e.Source != worker || !e.Late {
		t.Errorf("the entry of a report that waited: %+v", e)
	}
}

func TestEntryViews(t *testing.T) {
	entries := []*Entry{
		{
			Sequence: 1,
			Type:     "a",
			Message:  "one",
			Data:     json.RawMessage(`1`),
			TaskID:   "t",
			Apart:    true,
			Blob:     "sha256-1",
		},
		{
			Sequence: 2,
			Type:     "b",
			Data:     json.RawMessage(`2`),
			Bare:     true,
		},
		{
			Sequence: 3,
			Type:     "a",
			Message:  "three",
			TaskID:   "u",
		},
	}
	views := viewsOf(entries)
	if string(views[0].Metadata) != "1" || views[0].Data != nil || views[0].TaskID != "t" ||
		views[0].Blob != "sha256-1" {
		t.Errorf("with reports: %+v", views[0])
	}
	if string(views[1].Data) != "2" || views[1].Metadata != nil || views[2].TaskID != "u" {
		t.Errorf("without reports: %+v", views[1])
	}
}

func TestSessionOfSource(t *testing.T) {
	if p, s, ok := SessionOfSource(SessionSource("p1", "s1")); p != "p1" || s != "s1" || !ok {
		t.Errorf("%s %s %t", p, s, ok)
	}
	for _, source := range []string{"", "/system", "/users/projects", "/projects/p", "/runners/r"} {
		if _, _, ok := SessionOfSource(source); ok {
			t.Errorf("%s counts as a session's source", source)
		}
	}
}

// The words of a session are data: what it reported and was told, and nothing that the state itself says about it.
func TestReportsAreData(t *testing.T) {
	s := stateOf(t, project(), task("t1"), task("t2"), spawn("w", "t1", "t2"), spawn("w2", "t2"),
		report(worker, "w", events.ReportProgress, "begun", "t1"),
		report(worker, "w", events.ReportBlocked, "no key"),
		by(admin, &events.SessionMessaged{
			SessionID: "w",
			MessageID: "m",
			Text:      "take mine",
			About:     "t1",
		}),
		by(worker, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportComplete,
			Message:   "both",
			TaskIDs:   []string{"t1", "t2"},
			Blobs:     events.Blobs{"message": "sha256-1"},
		}),
		by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskInProgress, Reason: "red"}),
		by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t2"}),
		by(second, &events.SessionNoted{SessionID: "w", Type: "task_completed", Message: "a lie"}),
		by(worker, &events.SessionNoted{SessionID: "w", Type: "milestone", Message: "half"}),
		by(admin, &events.SessionKilled{SessionID: "w", Status: events.SessionStopped, Reason: "slow"}),
	)
	want := []SessionMessage{
		{Kind: "progress", TaskIDs: []string{"t1"}, Text: "begun", From: worker},
		{Kind: "blocked", Text: "no key", From: worker},
		{Kind: SessionMessageMail, TaskIDs: []string{"t1"}, Text: "take mine", From: admin},
		{Kind: "complete", TaskIDs: []string{"t1", "t2"}, Text: "both", From: worker, Blob: "sha256-1"},
		{Kind: SessionMessageReopened, TaskIDs: []string{"t1"}, Text: "red", From: admin},
	}
	w := s.SessionEver("w")
	for most := range len(want) + 2 {
		expected := want[max(0, len(want)-most):]
		got := w.SessionMessages(newestFirst(sessionEntries(s, "w")), most)
		if !reflect.DeepEqual(got, slices.Clone(expected)) {
			t.Errorf("the newest %d: %+v, want %+v", most, got, expected)
		}
	}

	// Late reports get the remaining places.
	late := []*Entry{}
	for _, e := range sessionEntries(s, "w") {
		copied := *e
		copied.Late = e.Message == "begun" || e.Message == "both"
		late = append(late, &copied)
	}
	for most, expected := range [][]SessionMessage{{}, want[4:], {want[2], want[4]}} {
		got := w.SessionMessages(newestFirst(late), most)
		if len(got) != len(expected) {
			t.Errorf("the newest %d in time: %+v", most, got)
		}
	}
	all := w.SessionMessages(newestFirst(late), 99)
	for i, word := range all {
		if word.Text != want[i].Text || word.Late != (word.Text == "both" || i == 0) {
			t.Errorf("the late ones among the rest: %+v", all)
		}
	}

	s = stateOf(t, project(), task("t1"), pulls("x", "x", "t1"), started("x", "x", "t1", 1),
		failed("x", "x", "t1", "red"))
	wordOf := []SessionMessage{{
		Kind:    SessionMessageFailed,
		TaskIDs: []string{"t1"},
		Text:    "red",
		From:    "/projects/p/sessions/x",
	}}
	if got := s.Session("x").SessionMessages(newestFirst(sessionEntries(s, "x")), 9); !reflect.DeepEqual(got, wordOf) {
		t.Errorf("of a queue: %+v", got)
	}
}

package projections

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"maestro/events"
)

// want is what a view shows after a story: members by name, "a.b" for one within another, as JSON.
type want map[string]string

// match holds a view against what is wanted of it.
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
	full := by("/projects/p0/sessions/o", &events.ProjectCreated{ProjectID: "p", Name: "Alpha", WorkingDir: "/src", Description: "d", Blobs: events.Blobs{"description": "sha256-1"}})
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{
			"created",
			[]given{full},
			want{
				"id": `"p"`, "name": `"Alpha"`, "workingDir": `"/src"`, "description": `"d"`, "createdAt": ms(1), "updatedAt": ms(1),
				"createdBy": `"/projects/p0/sessions/o"`, "tasks": "0", "sessions": "0", "blobs": `{"description":"sha256-1"}`,
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
			[]given{full, by(admin, &events.ProjectUpdated{ProjectID: "p", Description: new(""), WorkingDir: new("/x")})},
			want{"name": `"Alpha"`, "workingDir": `"/x"`, "description": `""`, "blobs": ""},
		},
		{
			"another long one",
			[]given{full, by(admin, &events.ProjectUpdated{ProjectID: "p", Description: new("e"), Blobs: events.Blobs{"description": "sha256-2"}})},
			want{"description": `"e"`, "blobs": `{"description":"sha256-2"}`},
		},
		{
			"counts what is not deleted",
			[]given{
				full, task("t1"), task("t2"), task("t3"), spawn("w", "t1"), spawn("w2", "t1"),
				by(admin, &events.TaskDeleted{TaskID: "t1", Recursive: true, Descendants: []string{"t2"}}), by(admin, &events.SessionDeleted{SessionID: "w"}),
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
		TaskID: "t1", Title: "T", Description: "d", AcceptanceCriteria: []string{"c"}, Priority: "high", Dependencies: []string{"t2"},
		InitialPrompt: "i", SkillIDs: []string{"s"}, Model: "opus", Metadata: json.RawMessage(`{"a":1}`), Blobs: events.Blobs{"initialPrompt": "sha256-1"},
	})
	update := by(admin, &events.TaskUpdated{
		TaskID: "t1", Title: new("U"), Description: new("e"), AcceptanceCriteria: &[]string{}, Priority: new("low"), Dependencies: &[]string{},
		SkillIDs: &[]string{"r"}, AgentIDs: &[]string{"a"}, Model: new("haiku"), Metadata: json.RawMessage(`{}`),
		Status: &events.StatusChange{From: events.TaskTodo, To: events.TaskCancelled},
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
				"id": `"t1"`, "projectId": `"p"`, "parentId": "null", "title": `"T"`, "description": `"d"`, "status": `"todo"`, "priority": `"high"`,
				"createdAt": ms(3), "updatedAt": ms(3), "startedAt": "null", "completedAt": "null", "initialPrompt": `"i"`, "sessionIds": "[]",
				"skillIds": `["s"]`, "agentIds": "[]", "dependencies": `["t2"]`, "sessionStatus": "", "model": `"opus"`, "acceptanceCriteria": `["c"]`,
				"unmetDependencies": `["t2"]`, "createdBy": `"` + worker + `"`, "metadata": `{"a":1}`, "blobs": `{"initialPrompt":"sha256-1"}`,
			},
		},
		{
			"updated, every field and the status",
			[]given{project(), task("t2"), full, update},
			want{
				"title": `"U"`, "description": `"e"`, "status": `"cancelled"`, "priority": `"low"`, "createdAt": ms(3), "updatedAt": ms(4),
				"initialPrompt": `"i"`, "skillIds": `["r"]`, "agentIds": `["a"]`, "dependencies": "[]", "model": `"haiku"`, "acceptanceCriteria": "[]",
				"metadata": `{}`, "blobs": `{"initialPrompt":"sha256-1"}`, "startedAt": "null",
			},
		},
		{
			"a dependency that is completed is met",
			[]given{project(), task("t2"), full, by(admin, &events.TaskStatusChanged{TaskID: "t2", To: events.TaskCompleted})},
			want{"unmetDependencies": ""},
		},
		{
			"started and completed once, and reopened: the first times stay",
			[]given{project(), task("t1"), move(events.TaskInProgress), move(events.TaskCompleted), move(events.TaskInProgress), move(events.TaskCompleted), move(events.TaskBlocked)},
			want{"status": `"blocked"`, "startedAt": ms(3), "completedAt": ms(4), "updatedAt": ms(7)},
		},
		{
			"spawning starts what the event names, and links the others",
			[]given{
				project(), task("t1"), task("t2"),
				by(admin, &events.SessionSpawned{SessionID: "w", Name: "w", Role: events.RoleWorker, TaskIDs: []string{"t1", "t2"}, Started: []string{"t2"}}),
			},
			want{"status": `"todo"`, "startedAt": "null", "sessionIds": `["w"]`, "activeSessionId": `"w"`},
		},
		{
			"linked and unlinked",
			[]given{project(), task("t1"), task("t2"), spawn("w", "t2"), by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t1"}), by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})},
			want{"sessionIds": "[]", "activeSessionId": "", "status": `"todo"`},
		},
		{
			"a session's new tasks have it",
			[]given{project(), task("t1"), task("t2"), spawn("w", "t2"), by(admin, &events.SessionUpdated{SessionID: "w", TaskIDs: &[]string{"t1", "gone"}})},
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
		return by(admin, &events.TaskCreated{TaskID: id, Title: id, Priority: "low", ParentID: parent})
	}
	story := []given{project(), task("t1"), below("t2", "t1"), below("t3", "t2"), task("t4"), below("t5", "t1")}
	s := stateOf(t, story...)
	id := func(x *Task) string { return x.ID }
	equalLists(t, "tasks", idsOf(s.Tasks("p"), id), "t1", "t2", "t3", "t4", "t5")
	equalLists(t, "children", idsOf(s.Children("t1"), id), "t2", "t5")
	equalLists(t, "descendants, parents first", s.Descendants("t1"), "t2", "t5", "t3")
	if !s.IsWithin("t3", []string{"t9", "t1"}) || s.IsWithin("t4", []string{"t1"}) || !s.IsWithin("t4", []string{"t4"}) || s.IsWithin("gone", []string{"t1"}) {
		t.Error("IsWithin is wrong")
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
		return draw(s.TaskTrees("p"))
	}
	if got, want := shape(s), "t1(t2(t3()) t5()) t4()"; got != want {
		t.Errorf("tree %s, want %s", got, want)
	}
	s = stateOf(t, append(story, by(admin, &events.TaskDeleted{TaskID: "t1"}))...)
	if got, want := shape(s), "t2(t3()) t4() t5()"; got != want {
		t.Errorf("without its root: %s, want %s", got, want)
	}
	s = stateOf(t, append(story, by(admin, &events.TaskDeleted{TaskID: "t1", Recursive: true, Descendants: []string{"t2", "t5", "t3"}}))...)
	if got, want := shape(s), "t4()"; got != want {
		t.Errorf("without the whole tree: %s, want %s", got, want)
	}
	if s.TaskProject("t1") != "p" || s.TaskProject("never") != "" {
		t.Error("a deleted task keeps its project")
	}
}

func TestSession(t *testing.T) {
	full := by(orch, &events.SessionSpawned{
		SessionID: "w", Name: "W", Role: events.RoleWorker, Strategy: events.StrategyTree, TaskIDs: []string{"t1"}, Permissions: events.Permissions{Commands: []string{"whoami"}, Explicit: true},
		SpawnedBy: "o", Model: "opus", Agent: "codex", Skills: []string{"s"}, Context: json.RawMessage(`{"a":1}`), ManifestDigest: "sha256-1",
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
				"id": `"w"`, "projectId": `"p"`, "taskIds": `["t1"]`, "name": `"W"`, "role": `"worker"`, "env": "{}", "strategy": `"tree"`, "status": `"spawning"`,
				"startedAt": ms(3), "lastActivity": ms(3), "completedAt": "null", "endedAt": "", "spawnedBy": `"o"`, "model": `"opus"`, "agent": `"codex"`,
				"permissions": `{"commands":["whoami"],"explicit":true}`, "skills": `["s"]`, "manifestDigest": `"sha256-1"`,
			},
		},
		{
			"registered by a user that nobody spawned",
			[]given{project(), by(admin, &events.SessionRegistered{SessionID: "w", Created: &events.SessionCreated{
				Name: "N", Role: events.RoleOrchestrator, Strategy: events.StrategyDefault, Status: events.SessionIdle, Env: map[string]string{"A": "1"},
				Permissions: events.Permissions{Commands: []string{"status"}}, Metadata: json.RawMessage(`{"m":1}`), AgentID: "a",
			}})},
			want{
				"name": `"N"`, "role": `"orchestrator"`, "strategy": `"default"`, "status": `"idle"`, "env": `{"A":"1"}`, "metadata": `{"m":1}`,
				"agentId": `"a"`, "permissions": `{"commands":["status"]}`, "spawnedBy": "",
			},
		},
		{"registered", then(by(worker, &events.SessionRegistered{SessionID: "w"})), want{"status": `"running"`, "lastActivity": ms(4)}},
		{"heard makes it run", then(report(worker, "w", events.ReportProgress, "m")), want{"status": `"running"`, "lastActivity": ms(4)}},
		{"named by another does not", then(by(admin, &events.SessionNoted{SessionID: "w", Type: "n", Message: "m"})), want{"status": `"spawning"`, "lastActivity": ms(4)}},
		{
			"updated",
			then(by(admin, &events.SessionUpdated{SessionID: "w", Name: new("V"), Status: new(events.SessionIdle), AgentID: new("b"), TaskIDs: &[]string{}, Env: map[string]string{"A": "1"}}), by(admin, &events.SessionUpdated{SessionID: "w", Env: map[string]string{"B": "2"}})),
			want{"name": `"V"`, "status": `"idle"`, "agentId": `"b"`, "taskIds": "[]", "env": `{"A":"1","B":"2"}`, "lastActivity": ms(5)},
		},
		{"its own word that it is idle stays", then(by(worker, &events.SessionUpdated{SessionID: "w", Status: new(events.SessionIdle)})), want{"status": `"idle"`}},
		{"completed, and still no end", then(by(worker, &events.SessionCompleted{SessionID: "w"})), want{"status": `"completed"`, "completedAt": ms(4), "endedAt": ""}},
		{"completed by its report", then(by(worker, &events.SessionReported{SessionID: "w", Kind: events.ReportComplete, Message: "m", SessionCompleted: true})), want{"status": `"completed"`, "completedAt": ms(4)}},
		{"a report after completed changes no status", then(by(worker, &events.SessionCompleted{SessionID: "w"}), report(worker, "w", events.ReportProgress, "m")), want{"status": `"completed"`, "completedAt": ms(4), "lastActivity": ms(5)}},
		{"killed", then(by(admin, &events.SessionKilled{SessionID: "w", Reason: "r", Status: events.SessionStopped})), want{"status": `"stopped"`, "endedAt": ms(4), "completedAt": ms(4), "endReason": `"r"`}},
		{"failed", then(by(admin, &events.SessionKilled{SessionID: "w", Status: events.SessionEndFailed})), want{"status": `"failed"`, "endedAt": ms(4)}},
		{"a task more", then(task("t2"), by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t2"})), want{"taskIds": `["t1","t2"]`}},
		{"a task less", then(by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})), want{"taskIds": "[]"}},
	} {
		t.Run(c.name, func(t *testing.T) { match(t, stateOf(t, c.story...).Session("w").View(), c.want) })
	}

	s := stateOf(t, then(by(admin, &events.SessionDeleted{SessionID: "w"}))...)
	if s.Session("w") != nil || s.SessionProject("w") != "p" || len(s.SessionTimeline("w")) == 0 {
		t.Error("a deleted session is gone from the views, and its history stays")
	}
	e := full.event(New())
	x := stateOf(t, spawned...).Session("w")
	if x.Source() != worker || x.Generation != 1 || !x.Spawned || x.Cause.Event == "" || x.Cause.First != x.Cause.Event || string(x.Context) != `{"a":1}` {
		t.Errorf("%+v", *x.SessionFields)
	}
	e.CorrelationID = "first"
	fresh := stateOf(t, project(), task("t1"))
	e.PrevHash, e.ID, e.Time = fresh.Head().Hash, events.ID("a", "", "", "b"), fresh.At()
	read, body := stored(t, e)
	if _, err := fresh.Apply(3, read, events.BodyHash(body)); err != nil || fresh.Session("w").Cause.First != "first" {
		t.Errorf("the chain of causes goes on: %v, %+v", err, fresh.Session("w"))
	}
}

// Document 003: status is the user's and the orchestrator's, sessionStatus the agents'.
func TestTwoStatuses(t *testing.T) {
	begun := []given{project(), task("t1"), spawn("w", "t1"), spawn("w2", "t1")}
	then := func(more ...given) []given { return append(append([]given{}, begun...), more...) }
	kill := func(id string) given {
		return by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped})
	}
	said := func(sequence int, session, status string) string {
		return fmt.Sprintf(`{"sessionId":%q,"status":%q,"at":%s,"sequence":%d}`, session, status, ms(sequence), sequence)
	}
	working, done := report(worker, "w", events.ReportProgress, "m", "t1"), report(second, "w2", events.ReportComplete, "m", "t1")
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"nothing said", then(), want{"status": `"in_progress"`, "sessionStatus": "", "saidBy": "", "sessionIds": `["w","w2"]`, "activeSessionId": `"w2"`}},
		{"progress", then(working), want{"status": `"in_progress"`, "sessionStatus": `"working"`, "saidBy": `"w"`, "updatedAt": ms(5)}},
		{"complete waits for a person", then(done), want{"status": `"in_progress"`, "sessionStatus": `"completed"`, "completedAt": "null"}},
		{"blocked", then(report(worker, "w", events.ReportBlocked, "m", "t1")), want{"status": `"in_progress"`, "sessionStatus": `"blocked"`}},
		{"error", then(report(worker, "w", events.ReportError, "m", "t1")), want{"status": `"in_progress"`, "sessionStatus": `"failed"`}},
		{"needs input", then(report(worker, "w", events.ReportNeedsInput, "m", "t1")), want{"status": `"in_progress"`, "sessionStatus": `"needs_input"`}},
		{"without a task", then(report(worker, "w", events.ReportBlocked, "m")), want{"sessionStatus": "", "updatedAt": ms(4)}},
		{"a late report", then(by(worker, &events.SessionReported{SessionID: "w", Kind: events.ReportComplete, Message: "m", TaskIDs: []string{"t1"}, Late: true})), want{"sessionStatus": "", "updatedAt": ms(4)}},
		{"two sessions: the newest word", then(working, done), want{"sessionStatus": `"completed"`, "saidBy": `"w2"`, "says": "[" + said(5, "w", "working") + "," + said(6, "w2", "completed") + "]"}},
		{"two sessions: the other speaks again", then(working, done, report(worker, "w", events.ReportBlocked, "m", "t1")), want{"sessionStatus": `"blocked"`, "saidBy": `"w"`, "says": "[" + said(6, "w2", "completed") + "," + said(7, "w", "blocked") + "]"}},
		{"the newest speaker ends: the word of one that has not", then(working, done, kill("w2")), want{"sessionStatus": `"working"`, "saidBy": `"w"`, "activeSessionId": `"w"`}},
		{"all have ended: the newest of all", then(working, done, kill("w"), kill("w2")), want{"sessionStatus": `"completed"`, "saidBy": `"w2"`, "activeSessionId": ""}},
		{"a session that said it is done is not at work", then(by(second, &events.SessionCompleted{SessionID: "w2"})), want{"activeSessionId": `"w"`}},
		{"confirmed by a user", then(done, by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskCompleted})), want{"status": `"completed"`, "sessionStatus": `"completed"`, "completedAt": ms(6)}},
		{"reopened: it is no longer said to be done", then(working, done, by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskInProgress})), want{"status": `"in_progress"`, "sessionStatus": `"working"`, "says": "[" + said(5, "w", "working") + "]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.TaskView(s.Task("t1")), c.want)
		})
	}
}

func TestProjectStatus(t *testing.T) {
	s := stateOf(
		t, project(), task("t1"), task("t2"), task("t3"), spawn("w", "t1", "t2"), report(worker, "w", events.ReportComplete, "m", "t1", "t2"),
		by(admin, &events.TaskStatusChanged{TaskID: "t2", To: events.TaskCompleted}), spawn("w2", "t3"),
		by(admin, &events.SessionKilled{SessionID: "w2", Status: events.SessionEndFailed}),
	)
	match(t, s.ProjectStatus(s.Project("p")), want{
		"project.id": `"p"`, "tasks": `{"completed":1,"in_progress":2}`, "says": `{"completed":2}`, "unconfirmed": `["t1"]`, "sessions": `{"failed":1,"running":1}`,
	})
}

// lines draws a timeline: type, whose it is, about which task, the words.
func lines(timeline Timeline) []string {
	var drawn []string
	for _, e := range timeline {
		line := fmt.Sprintf("%s %s %s/%s", e.ID(), e.Type, e.SessionID, e.TaskID)
		if e.AboutTask != "" {
			line += " about " + e.AboutTask
		}
		if e.Message != "" {
			line += ": " + e.Message
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
	begun := []given{project(), task("t1"), task("t2"), spawn("w", "t1", "t2"), by(admin, &events.SessionRegistered{SessionID: "o", Created: &events.SessionCreated{Name: "o", Role: events.RoleOrchestrator, Status: events.SessionRunning}})}
	then := func(more ...given) []given { return append(append([]given{}, begun...), more...) }
	said := time.Date(2026, 3, 1, 11, 0, 0, 5e6, time.UTC)
	late := by(worker, &events.SessionReported{SessionID: "w", Kind: events.ReportError, Message: "m", TaskIDs: []string{"t1"}, Late: true})
	late.said = said
	file := by(worker, &events.SessionFileTracked{SessionID: "w", File: "a.go", TaskID: "t1"})
	waited := by(worker, &events.SessionFileTracked{SessionID: "w", File: "a.go", TaskID: "gone"})
	waited.said = said
	for _, c := range []struct {
		name    string
		story   []given
		session string // whose newest lines are looked at
		want    []string
		onTask  string // of this task
		task    []string
	}{
		{"spawned", then(), "w", []string{"evt_4 session_started w/: Session created", "evt_4_1 task_started w/t1: Started working on task", "evt_4_2 task_started w/t2: Started working on task"}, "t2", []string{"evt_4_2 task_started w/t2: Started working on task"}},
		{"a report on two tasks stands on each", then(report(worker, "w", events.ReportProgress, "m", "t1", "t2")), "w", []string{"evt_6 progress w/t1: m", "evt_6_1 progress w/t2: m"}, "t2", []string{"evt_6_1 progress w/t2: m"}},
		{"a report without a task", then(report(worker, "w", events.ReportBlocked, "m")), "w", []string{"evt_6 task_blocked w/: m"}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
		{"complete", then(report(worker, "w", events.ReportComplete, "m", "t1")), "w", []string{"evt_6 task_completed w/t1: m"}, "t1", []string{"evt_6 task_completed w/t1: m"}},
		{"error", then(report(worker, "w", events.ReportError, "m", "t1")), "w", []string{"evt_6 error w/t1: m"}, "t1", []string{"evt_6 error w/t1: m"}},
		{"needs input", then(report(worker, "w", events.ReportNeedsInput, "m", "t1")), "w", []string{"evt_6 needs_input w/t1: m"}, "t1", []string{"evt_6 needs_input w/t1: m"}},
		{"a report without words stands nowhere", then(report(worker, "w", events.ReportProgress, "", "t1")), "w", []string{"evt_4_2 task_started w/t2: Started working on task"}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
		{"a late report", then(late), "w", []string{"evt_6 error w/t1: m late"}, "t1", []string{"evt_6 error w/t1: m late"}},
		{"a status moved by an orchestrator is on its session", then(by(orch, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskBlocked, Reason: "r"})), "o", []string{"evt_6 task_status_changed o/t1: Status changed to blocked: r"}, "t1", []string{"evt_6 task_status_changed o/t1: Status changed to blocked: r"}},
		{"a status moved by a user is on the task", then(by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskCompleted})), "w", []string{"evt_4_2 task_started w/t2: Started working on task"}, "t1", []string{"evt_6 task_status_changed /t1: Status changed to completed"}},
		{"reopened: the reason reaches the session", then(by(orch, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskInProgress, Reason: "r"})), "w", []string{"evt_6_1 task_reopened w/ about t1: r"}, "t1", []string{"evt_6 task_status_changed o/t1: Status changed to in_progress: r"}},
		{"updated fields are named", then(by(orch, &events.TaskUpdated{TaskID: "t1", Title: new("x"), Model: new("y"), Status: &events.StatusChange{To: events.TaskBlocked}})), "o", []string{"evt_6_1 task_status_changed o/t1: Status changed to blocked"}, "t1", []string{"evt_6 task_updated /t1: title, model", "evt_6_1 task_status_changed o/t1: Status changed to blocked"}},
		{"a task made by a session", then(by(worker, &events.TaskCreated{TaskID: "t3", Title: "new"})), "w", []string{"evt_6 task_created w/t3: new"}, "t3", []string{"evt_6 task_created w/t3: new"}},
		{"a file", then(file), "w", []string{`evt_6 file_modified w/t1 {"file":"a.go","timestamp":"2026-03-01T12:00:06.000Z"} bare`}, "t1", []string{`evt_6 file_modified w/t1 {"file":"a.go","timestamp":"2026-03-01T12:00:06.000Z"} bare`}},
		{"a file that waited, of a task that is gone", then(waited), "w", []string{`evt_6 file_modified w/ {"file":"a.go","timestamp":"2026-03-01T11:00:00.005Z"} bare`}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
		{"a note", then(by(worker, &events.SessionNoted{SessionID: "w", Type: "milestone", Message: "m", TaskID: "t1", Data: json.RawMessage(`{"a":1}`)})), "w", []string{`evt_6 milestone w/t1: m {"a":1}`}, "t1", []string{`evt_6 milestone w/t1: m {"a":1}`}},
		{"a bare note about a task elsewhere", then(by(worker, &events.SessionNoted{SessionID: "w", Type: "n", TaskID: "other", Data: json.RawMessage(`{}`)})), "w", []string{`evt_6 n w/ about other {} bare`}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
		{"linked", then(task("t3"), by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t3"})), "w", []string{"evt_7 task_started w/t3: Added task to session"}, "t3", []string{"evt_7 task_started w/t3: Added task to session"}},
		{"unlinked", then(by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})), "w", []string{"evt_6 task_completed w/t1: Removed task from session"}, "t1", []string{"evt_6 task_completed w/t1: Removed task from session"}},
		{"completed", then(by(worker, &events.SessionCompleted{SessionID: "w"})), "w", []string{"evt_6 session_completed w/: Session completed"}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
		{"killed", then(by(admin, &events.SessionKilled{SessionID: "w", Status: events.SessionEndFailed, Reason: "r"})), "w", []string{"evt_6 session_failed w/: Session failed: r"}, "t1", []string{"evt_4_1 task_started w/t1: Started working on task"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			newest := func(timeline Timeline, n int) []string { return lines(timeline[len(timeline)-n:]) }
			equalLists(t, "session", newest(s.SessionTimeline(c.session), len(c.want)), c.want...)
			equalLists(t, "task", newest(s.TaskTimeline(c.onTask), len(c.task)), c.task...)
		})
	}

	s := stateOf(t, then(late)...)
	e := s.TaskTimeline("t1")[2].View()
	if e.OccurredAt != said.UnixMilli() || e.Timestamp != at(6) || e.Sequence != 6 || e.Source != worker || !e.Late {
		t.Errorf("the entry of a report that waited: %+v", e)
	}
}

func TestTimelineViews(t *testing.T) {
	timeline := Timeline{
		{Sequence: 1, Type: "a", Message: "one", Data: json.RawMessage(`1`), AboutTask: "t", Blob: "sha256-1"},
		{Sequence: 2, Type: "b", Data: json.RawMessage(`2`), Bare: true},
		{Sequence: 3, Type: "a", Message: "three", TaskID: "u"},
	}
	ids := func(views []EntryView) []string {
		got := []string{}
		for _, v := range views {
			got = append(got, v.ID)
		}
		return got
	}
	equalLists(t, "all", ids(timeline.Views(0, nil)), "evt_1", "evt_2", "evt_3")
	equalLists(t, "the newest two", ids(timeline.Views(2, nil)), "evt_2", "evt_3")
	equalLists(t, "with words", ids(timeline.Views(0, func(e *Entry) bool { return !e.Bare })), "evt_1", "evt_3")
	equalLists(t, "the newest with words", ids(timeline.Views(1, func(e *Entry) bool { return e.Type == "a" })), "evt_3")
	if views := Timeline(nil).Views(0, nil); views == nil || len(views) != 0 {
		t.Error("an empty timeline is an empty list")
	}
	views := timeline.Views(0, nil)
	if string(views[0].Metadata) != "1" || views[0].Data != nil || views[0].TaskID != "t" || views[0].Blob != "sha256-1" {
		t.Errorf("with words: %+v", views[0])
	}
	if string(views[1].Data) != "2" || views[1].Metadata != nil || views[2].TaskID != "u" {
		t.Errorf("without: %+v", views[1])
	}
}

func TestSessionOfSource(t *testing.T) {
	if p, s, ok := SessionOfSource(SessionSource("p1", "s1")); p != "p1" || s != "s1" || !ok {
		t.Errorf("%s %s %t", p, s, ok)
	}
	for _, source := range []string{"", "/system", "/users/projects", "/projects/p", "/runners/r"} {
		if _, _, ok := SessionOfSource(source); ok {
			t.Errorf("%s is a session's", source)
		}
	}
}

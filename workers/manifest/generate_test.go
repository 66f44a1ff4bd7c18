package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/events"
)

// The parts of a spawned session's manifest that existing clients read: docs/http-api-compat.md, "5. Sessions".
func TestGenerateWithDefaults(t *testing.T) {
	m, err := Generate(Source{
		Tasks: []TaskSource{{
			ID:           "task_1",
			Title:        "Fix <it>",
			ProjectID:    "proj_1",
			CreatedAt:    1770026400123,
			ParentID:     "task_0",
			Dependencies: []string{"task_9"},
			Priority:     "high",
		}},
		Said: Manifest{
			Session:    Session{WorkingDirectory: "/src"},
			TemplateID: "tmpl_1",
			Skills:     []string{"review"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "manifestVersion": "1.0",
  "role": "worker",
  "strategy": "simple",
  "tasks": [
    {
      "id": "task_1",
      "title": "Fix <it>",
      "description": "Fix <it>",
      "parentId": "task_0",
      "acceptanceCriteria": [
        "Task completion as described"
      ],
      "dependencies": [
        "task_9"
      ],
      "priority": "high",
      "projectId": "proj_1",
      "createdAt": "2026-02-02T10:00:00.123Z"
    }
  ],
  "skills": [
    "review"
  ],
  "session": {
    "model": "sonnet",
    "permissionMode": "acceptEdits",
    "thinkingMode": "auto",
    "workingDirectory": "/src"
  },
  "context": {
    "custom": {
      "taskIds": [
        "task_1"
      ]
    }
  },
  "templateId": "tmpl_1"
}
`
	if got := string(m.Canonical()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const digest = "sha256-"
	if got := Digest(m.Canonical()); !strings.HasPrefix(got, digest) || len(got) != len(digest)+64 ||
		got != Digest([]byte(want)) {
		t.Errorf("digest %s", got)
	}
	sameAgain(t, m)
}

func TestGenerateWithEverything(t *testing.T) {
	coverage := 80.5
	from := Source{
		Said: Manifest{
			Role:     events.RoleOrchestrator,
			Strategy: events.StrategySimple,
			Session: Session{
				Model:           "claude-opus-4-5",
				PermissionMode:  Interactive,
				ThinkingMode:    "disabled",
				MaxTurns:        7,
				Timeout:         1500,
				Agent:           "claude",
				AllowedCommands: &[]string{},
			},
		},
		Tasks: []TaskSource{{
			ID:                 "t1",
			Title:              "a",
			Description:        "b",
			AcceptanceCriteria: []string{"c"},
			ProjectID:          "p",
			Metadata:           json.RawMessage(` { "x" : 1 } `),
			Status:             events.TaskBlocked,
		}},
		CodebaseContext:  &CodebaseContext{RelevantFiles: []string{"a.go"}, Commands: &DevelopmentScript{Test: "make"}},
		ProjectStandards: &ProjectStandards{Testing: &Testing{Required: true, MinimumCoverage: &coverage}},
		Custom:           json.RawMessage(`{"k":"v"}`),
	}
	m, err := Generate(from)
	if err != nil {
		t.Fatal(err)
	}
	want := &Manifest{
		ManifestVersion: "1.0",
		Role:            events.RoleOrchestrator,
		Strategy:        events.StrategyDefault,
		Tasks: []Task{{
			ID:                 "t1",
			Title:              "a",
			Description:        "b",
			AcceptanceCriteria: []string{"c"},
			ProjectID:          "p",
			CreatedAt:          "1970-01-01T00:00:00.000Z",
			Metadata:           json.RawMessage(`{"x":1}`),
		}},
		Session: Session{
			Model:           "claude-opus-4-5",
			PermissionMode:  Interactive,
			ThinkingMode:    "disabled",
			MaxTurns:        7,
			Timeout:         1500,
			Agent:           "claude",
			AllowedCommands: &[]string{},
		},
		Context: &Context{
			CodebaseContext: from.CodebaseContext, ProjectStandards: from.ProjectStandards,
			Custom: from.Custom,
		},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v", m)
	}
	sameAgain(t, m)
}

func TestRelatedTasksAreDerived(t *testing.T) {
	m, err := Generate(Source{
		Tasks: []TaskSource{
			{
				ID:        "t1",
				Title:     "a",
				ProjectID: "p",
				ParentID:  "up",
				Dependencies: []string{
					"t2", "done", "gone",
					"given",
				},
			},
			{
				ID:           "t2",
				Title:        "b",
				ProjectID:    "p",
				ParentID:     "t1",
				Dependencies: []string{"done", "up2"},
			},
			{
				ID:        "t3",
				Title:     "c",
				ProjectID: "p",
				ParentID:  "up2",
			},
		},
		Around: []TaskSource{
			{ID: "t1", Title: "a", Dependencies: []string{"t2"}},
			{ID: "later", Title: "Later", Dependencies: []string{"x", "t1", "t2"}},
			{
				ID:           "up",
				Title:        "Up",
				Description:  "All of it",
				Status:       events.TaskInProgress,
				Dependencies: []string{"t1"},
			},
			{
				ID:     "up2",
				Title:  "Up 2",
				Status: events.TaskCancelled,
				Result: "given up",
			},
			{
				ID:          "done",
				Title:       "Done",
				Description: "Long",
				Status:      events.TaskCompleted,
				Result:      "made it",
			},
			{ID: "other", Title: "Other", Dependencies: []string{"x"}},
			{ID: "given", Title: "Given"},
			{
				ID:       "below",
				Title:    "Below",
				ParentID: "t3",
				Status:   events.TaskBlocked,
				Result:   "half of it",
			},
			{ID: "deeper", Title: "Deeper", ParentID: "below"},
		},
		Related: []RelatedTask{{
			ID:           "given",
			Title:        "As given",
			Status:       "pending",
			Relationship: "related",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []RelatedTask{
		{
			ID:           "given",
			Title:        "As given",
			Status:       "pending",
			Relationship: "related",
		},
		{
			ID:           "done",
			Title:        "Done",
			Status:       "completed",
			Relationship: "dependency",
			Summary:      "made it",
		},
		{
			ID:           "up2",
			Title:        "Up 2",
			Status:       "cancelled",
			Relationship: "dependency",
			Summary:      "given up",
		},
		{
			ID:           "up",
			Title:        "Up",
			Status:       "in_progress",
			Relationship: "blocks",
			Description:  "All of it",
		},
		{
			ID:           "later",
			Title:        "Later",
			Status:       "todo",
			Relationship: "blocking",
		},
		{
			ID:           "below",
			Title:        "Below",
			Status:       "blocked",
			Relationship: "related",
			Summary:      "half of it",
			Description:  "It is below your task t3.",
		},
	}
	if !reflect.DeepEqual(m.Context.RelatedTasks, want) {
		t.Errorf("got %+v", m.Context.RelatedTasks)
	}
}

func TestInitialPromptIsIncluded(t *testing.T) {
	task := TaskSource{
		ID:            "t1",
		Title:         "a",
		ProjectID:     "p",
		InitialPrompt: "Begin with \"the\" tests.",
	}
	for custom, want := range map[string]string{
		``:                      `{"initialPrompt":"Begin with \"the\" tests.","taskIds":["t1"]}`,
		`{"a":1}`:               `{"a":1,"initialPrompt":"Begin with \"the\" tests."}`,
		`{"initialPrompt":"x"}`: `{"initialPrompt":"x"}`,
	} {
		m, err := Generate(Source{Tasks: []TaskSource{task, {
			ID:            "t2",
			Title:         "b",
			ProjectID:     "p",
			InitialPrompt: "not told",
		}}, Custom: json.RawMessage(custom)})
		if custom == "" {
			m, err = Generate(Source{Tasks: []TaskSource{task}})
		}
		if err != nil {
			t.Fatal(err)
		}
		var told bytes.Buffer
		if err := json.Compact(&told, m.Context.Custom); err != nil || told.String() != want {
			t.Errorf("%s becomes %s, %v; want %s", custom, told.String(), err, want)
		}
	}
}

func TestSubtasksAreLimited(t *testing.T) {
	from := Source{Tasks: []TaskSource{{ID: "t1", Title: "a", ProjectID: "p"}}}
	for i := range MostAround + 7 {
		from.Around = append(from.Around, TaskSource{ID: fmt.Sprint("c", i), Title: "c", ParentID: "t1"})
	}
	m, err := Generate(from)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Context.RelatedTasks); n != MostAround {
		t.Errorf("%d tasks below are listed, expected %d", n, MostAround)
	}
}

func TestGenerateRefuses(t *testing.T) {
	task := TaskSource{ID: "t1", Title: "a", ProjectID: "p"}
	with := func(change func(*TaskSource)) []TaskSource {
		changed := task
		change(&changed)
		return []TaskSource{changed}
	}
	ours := Manifest{Session: Session{Agent: "ours"}}
	for name, c := range map[string]struct {
		from Source
		want []string
	}{
		"no tasks":        {Source{}, []string{"/tasks"}},
		"a queue without": {Source{Said: Manifest{Strategy: events.StrategyQueue}}, nil},
		"a strategy": {
			Source{Said: Manifest{Strategy: events.StrategyDAG}, Tasks: []TaskSource{task}},
			[]string{"/strategy"},
		},
		"a role": {Source{Said: Manifest{Role: "boss"}, Tasks: []TaskSource{task}}, []string{"/role"}},
		"commands": {
			Source{
				Tasks: []TaskSource{task},
				Said:  Manifest{Session: Session{AllowedCommands: &[]string{"session:spawn"}}},
			},
			[]string{"/session/allowedCommands/0"},
		},
		"an agent":      {Source{Tasks: []TaskSource{task}, Said: ours}, []string{"/session/agent"}},
		"a known agent": {Source{Tasks: []TaskSource{task}, Said: ours, Agents: []string{"ours"}}, nil},
		"turns": {
			Source{Tasks: []TaskSource{task}, Said: Manifest{Session: Session{MaxTurns: -1, Timeout: -1}}},
			[]string{"/session/maxTurns", "/session/timeout"},
		},
		"metadata": {
			Source{Tasks: with(func(s *TaskSource) { s.Metadata = json.RawMessage("{") })},
			[]string{"/tasks/0/metadata"},
		},
		"a list as such": {
			Source{Tasks: with(func(s *TaskSource) { s.Metadata = json.RawMessage("[]") })},
			[]string{"/tasks/0/metadata"},
		},
		"custom": {
			Source{Tasks: []TaskSource{task}, Custom: json.RawMessage("")},
			[]string{"/context/custom"},
		},
		"custom as a text": {
			Source{Tasks: []TaskSource{task}, Custom: json.RawMessage(`"a"`)},
			[]string{"/context/custom"},
		},
		"an untitled task": {Source{Tasks: with(func(s *TaskSource) { s.Title = "" })}, []string{
			"/tasks/0/title",
			"/tasks/0/description",
		}},
		"a day far away": {
			Source{Tasks: with(func(s *TaskSource) { s.CreatedAt = 1 << 60 })},
			[]string{"/tasks/0/createdAt"},
		},
		"text that is none": {Source{Tasks: with(func(s *TaskSource) { s.Title = "\xff" })}, nil},
	} {
		m, err := Generate(c.from)
		if got := pointers(t, err); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if (m == nil) != (err != nil) {
			t.Errorf("%s: both a manifest and %v, or neither", name, err)
		}
	}
}

func TestMigrate(t *testing.T) {
	old := strings.Replace(strings.Replace(with(t, `"role":"worker"`,
		`"role":"orchestrator","orchestratorStrategy":"dag"`), `"tasks":[{`, `"task":{`, 1), `}],"session"`,
		`},"session"`, 1)
	migrated, changed, err := Migrate([]byte(old))
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	m, err := Parse(migrated)
	if err != nil || m.Strategy != events.StrategyDAG || len(m.Tasks) != 1 || m.Tasks[0].ID != "t1" {
		t.Errorf("got %s, %v", migrated, err)
	}
	again, changed, err := Migrate(migrated)
	if err != nil || changed || string(again) != string(migrated) {
		t.Errorf("the second time: changed %v, %v", changed, err)
	}
	as := " " + minimal + "\n"
	if same, changed, err := Migrate([]byte(as)); err != nil || changed || string(same) != as {
		t.Errorf("a current manifest: changed %v, %v", changed, err)
	}
	if _, _, err := Migrate([]byte(with(t, `"1.0"`, `"0.9"`))); err == nil || !strings.Contains(err.Error(),
		"Unsupported manifest version: 0.9") {
		t.Errorf("another version: %v", err)
	}
	var invalid *InvalidError
	_, _, err = Migrate([]byte(strings.Replace(old, `"title":"Fix bug",`, "", 1)))
	if !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/task/title" {
		t.Errorf("a fault in an old manifest: %v", err)
	}
}

func TestAxes(t *testing.T) {
	table := commands.CurrentRules()
	for _, c := range []struct {
		role     events.Role
		strategy events.Strategy
		list     *[]string
		want     Axes
	}{
		{events.RoleWorker, "", nil, Axes{
			Execute, events.StrategySimple, table.Defaults(commands.RoleWorker),
			Capabilities{false, true, false, true, true},
		}},
		{events.RoleWorker, events.StrategyQueue, nil, Axes{
			Execute, events.StrategyQueue, table.Defaults(commands.RoleQueueWorker),
			Capabilities{false, true, true, true, true},
		}},
		{events.RoleWorker, events.StrategyTree, nil, Axes{
			Execute, events.StrategyTree, table.Defaults(commands.RoleTreeWorker),
			Capabilities{false, true, false, true, true},
		}},
		{events.RoleOrchestrator, events.StrategySimple, nil, Axes{
			Coordinate, events.StrategyDefault,
			table.Defaults(commands.RoleOrchestrator),
			Capabilities{true, true, false, true, true},
		}},
		{events.RoleOrchestrator, events.StrategyDAG, &[]string{"session:spawn"}, Axes{
			Coordinate, events.StrategyDAG,
			[]string{
				"whoami", "status", "commands", "session:register", "session:complete", "track-file",
				"orchestrator:init", "session:spawn",
			},
			Capabilities{true, false, false, false, false},
		}},
		{events.RoleWorker, "", &[]string{}, Axes{
			Execute, events.StrategySimple,
			[]string{
				"whoami", "status", "commands", "session:register", "session:complete", "track-file",
				"worker:init",
			},
			Capabilities{},
		}},
		{events.RoleWorker, "", &[]string{"task:report:progress", "session:spawn", "task:get"}, Axes{
			Execute, events.StrategySimple,
			[]string{
				"whoami", "status", "commands", "session:register", "session:complete", "track-file",
				"worker:init", "report:progress", "task:get",
			},
			Capabilities{false, false, false, true, true},
		}},
		{events.RoleWorker, events.StrategyDAG, &[]string{"queue:start"}, Axes{
			Execute, events.StrategySimple,
			[]string{
				"whoami", "status", "commands", "session:register", "session:complete", "track-file",
				"worker:init",
			},
			Capabilities{},
		}},
	} {
		m := &Manifest{Role: c.role, Strategy: c.strategy, Session: Session{AllowedCommands: c.list}}
		if got := m.Axes(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s %v: got %+v", c.role, c.strategy, c.list, got)
		}
	}
	var names []string
	for _, capability := range (Capabilities{CanUseQueue: true}).List() {
		if capability.Enabled != (capability.Name == "can_use_queue") {
			t.Errorf("%+v", capability)
		}
		names = append(names, capability.Name)
	}
	want := "can_spawn_sessions can_edit_tasks can_use_queue can_report_task_level can_report_session_level"
	if strings.Join(names, " ") != want {
		t.Errorf("got %s", names)
	}
}

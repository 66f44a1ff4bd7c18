package projections

import (
	"fmt"
	"reflect"
	"testing"

	"maestro/events"
)

// TestRoots: the root of a project is that of the session that created it, through any number of levels and whatever
// was deleted.
func TestRoots(t *testing.T) {
	in := func(project, source string, data events.Data) given {
		return given{by: source, data: data, project: project}
	}
	created := func(project, source string) given {
		return in(project, source, &events.ProjectCreated{ProjectID: project, Name: project})
	}
	orchestrator := func(project, id string) given {
		return in(project, admin, &events.SessionRegistered{SessionID: id, Created: &events.SessionCreated{
			Name:        id,
			Role:        events.RoleOrchestrator,
			Status:      events.SessionRunning,
			Permissions: events.Permissions{},
		}})
	}
	task := func(project, id string) given {
		return in(project, admin, &events.TaskCreated{TaskID: id, Title: id, Priority: "medium"})
	}
	source := SessionSource
	story := []given{
		created("p", admin),
		created("other", "/users/ci"),
		orchestrator("p", "o"),
		created("a", source("p", "o")),
		orchestrator("a", "oa"),
		created("b", source("a", "oa")),
		created("c", source("a", "oa")),
		orchestrator("b", "ob"),
		task("p", "t0"), task("a", "t1"), task("b", "t2"), task("c", "t3"),
		in("c", admin, &events.TaskDeleted{TaskID: "t3"}),
		in("c", source("a", "oa"), &events.ProjectDeleted{ProjectID: "c"}),
		in("a", admin, &events.TaskDeleted{TaskID: "t1"}),
		in("a", admin, &events.SessionDeleted{SessionID: "oa"}),
		in("a", source("p", "o"), &events.ProjectDeleted{ProjectID: "a"}),
		created("d", source("b", "ob")), // the project of its creator's creator is gone
		created("e", source("never", "s")),
	}
	s := stateOf(t, story...)
	read, err := Decode([]byte(encode(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for when, s := range map[string]*State{"folded": s, "from a snapshot": read} {
		for project, want := range map[string]string{
			"p": "p", "other": "other", "a": "p", "b": "p", "c": "p", "d": "p", "e": "e", "none": "none",
		} {
			if got := s.Root(project); got != want {
				t.Errorf("%s: the root of %s is %s, want %s", when, project, got, want)
			}
		}
		want := RootUsage{Projects: []string{"b", "d"}, Tasks: 1}
		if got := s.RootUsage("p"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: below p there are %+v, want %+v", when, got, want)
		}
		if got := s.RootUsage("other"); !reflect.DeepEqual(got, RootUsage{}) {
			t.Errorf("%s: below other there are %+v", when, got)
		}
	}
}

// TestCreatedObjectsAreCounted compares the counts below each root with what exists, after each event of random logs.
func TestCreatedObjectsAreCounted(t *testing.T) {
	below := 0
	for seed := range uint64(60) {
		s := New()
		for i, g := range randomStory(t, seed, 100) {
			apply(t, s, g)
			for _, root := range poolProjects {
				var want RootUsage
				for p := range s.Projects() {
					if p.Root == root && p.ID != root {
						want.Projects = append(want.Projects, p.ID)
						want.Tasks += p.Tasks
					}
				}
				below += len(want.Projects)
				if got := s.RootUsage(root); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, event %d: below %s there are %+v, want %+v", seed, i, root, got, want)
				}
			}
		}
	}
	if below == 0 {
		t.Error("no session created a project")
	}
}

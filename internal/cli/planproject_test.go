package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/plan"
	"maestro/service/wire"
)

// projectServer creates projects as a server does: once for each key of a token.
type projectServer struct {
	made     map[string]string // the id and the body, by token and key
	projects map[string]string // the name, by id
	order    []string          // the ids, in order of creation
	full     string            // the project that has tasks
}

func (s *projectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	switch id := strings.TrimPrefix(r.URL.Path, "/api/projects/"); {
	case strings.HasSuffix(r.URL.Path, "project:delete"):
		var project commands.DeleteProject
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &project) != nil ||
			project.ProjectID == s.full {
			answer(http.StatusUnprocessableEntity, map[string]any{"code": "RULE", "message": "it has tasks"})
			return
		}
		delete(s.projects, project.ProjectID)
		answer(http.StatusOK, wire.Done{Outcome: wire.Outcome{Sequence: 1}})
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		key := r.Header.Get("Authorization") + r.Header.Get(wire.HeaderKey)
		made, again := s.made[key]
		if id, of, _ := strings.Cut(made, " "); again && of != string(body) {
			answer(http.StatusConflict, map[string]any{"code": "CONFLICT", "message": id})
			return
		}
		id := fmt.Sprint("proj_", len(s.made))
		if again {
			id, _, _ = strings.Cut(made, " ")
			w.Header().Set(wire.HeaderRetried, "true")
		} else {
			var project commands.CreateProject
			_ = json.Unmarshal(body, &project)
			s.made[key], s.projects[id] = id+" "+string(body), project.Name
			s.order = append(s.order, id)
		}
		event, err := (&events.Event{
			ID:      uuid.New(),
			Source:  "/users/admin",
			Time:    time.Unix(1, 0),
			Project: id,
			Rules:   commands.RulesVersion,
			Data:    &events.ProjectCreated{ProjectID: id, Name: "Shop"},
		}).Append(nil)
		if err != nil {
			answer(http.StatusInternalServerError, err.Error())
			return
		}
		answer(http.StatusOK, wire.Done{Outcome: wire.Outcome{Sequence: 1, Event: event}, Retried: again})
	case id == r.URL.Path:
		found := []wire.Project{}
		for _, id := range s.order {
			if name, there := s.projects[id]; there && name == r.URL.Query().Get("name") {
				found = append(found, wire.Project{ID: id, Name: name})
			}
		}
		answer(http.StatusOK, found)
	case s.projects[id] == "":
		answer(http.StatusNotFound, map[string]any{"code": "NOT_FOUND", "message": "gone"})
	default:
		answer(http.StatusOK, wire.Project{ID: id, Name: s.projects[id]})
	}
}

// Two applies that create the project of the same name at once create one project, also if their plans describe it
// differently. A project that was deleted or renamed since is not used again.
func TestAppliesAtOnceCreateOneProject(t *testing.T) {
	fake := &projectServer{made: map[string]string{}, projects: map[string]string{}}
	server := httptest.NewServer(fake)
	defer server.Close()
	i := applying{client: client.New(server.URL, "")}
	create := func(description string) string {
		t.Helper()
		id, err := i.createNamed(t.Context(), &commands.CreateProject{Name: "Shop", Description: description})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	seen := map[string]bool{}
	for round := range 4 {
		first := create("one")
		if seen[first] || fake.projects[first] != "Shop" {
			t.Fatalf("%s is %q; %v", first, fake.projects[first], fake.made)
		}
		if seen[first] = true; create("one") != first || create("two") != first {
			t.Errorf("%d projects: %v", len(fake.projects), fake.made)
		}
		if round%2 == 0 {
			fake.projects[first] = "Renamed"
		} else {
			delete(fake.projects, first)
		}
		second := create("two")
		if seen[second] || create("two") != second {
			t.Errorf("after its end: %s, %v", second, fake.made)
		}
		seen[second] = true
		delete(fake.projects, second)
	}
}

// Two users who apply plans of one name at once use one project, whoever looks first; a project with tasks stays, and
// the error names both.
func TestAppliesOfTwoUsersUseOneProject(t *testing.T) {
	fake := &projectServer{made: map[string]string{}, projects: map[string]string{}}
	server := httptest.NewServer(fake)
	defer server.Close()
	shop := &commands.CreateProject{Name: "Shop"}
	var of [2]string
	var users [2]applying
	for n, token := range []string{"one", "two"} {
		users[n] = applying{client: client.New(server.URL, token), Diff: &plan.Diff{}}
		id, err := users[n].createNamed(t.Context(), shop)
		if err != nil {
			t.Fatal(err)
		}
		of[n] = id
	}
	if of[0] == of[1] {
		t.Fatalf("both users create %s", of[0])
	}
	fake.full = of[1]
	if id, err := users[1].onlyOne(t.Context(), "Shop", of[1]); err == nil ||
		!strings.Contains(err.Error(), `2 projects have the name "Shop"`) || fake.projects[of[1]] == "" {
		t.Errorf("beside a project with tasks: %s, %v", id, err)
	}
	fake.full = ""
	for _, n := range []int{1, 0, 1} {
		if id, err := users[n].onlyOne(t.Context(), "Shop", of[n]); err != nil || id != of[0] {
			t.Errorf("user %d uses %s, %v, not %s", n, id, err, of[0])
		}
	}
	if len(fake.projects) != 1 {
		t.Errorf("there are %v", fake.projects)
	}
	if err := users[1].projectNamed(t.Context(), &plan.Plan{}, "Shop"); err != nil || users[1].Project != of[0] {
		t.Errorf("the next apply uses %s, %v", users[1].Project, err)
	}
}

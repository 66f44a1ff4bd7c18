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
	"maestro/service/wire"
)

// projectServer creates projects as a server does: once for each key.
type projectServer struct {
	made     map[string]string // the id and the body, by key
	projects map[string]string // the name, by id
}

func (s *projectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	switch id := strings.TrimPrefix(r.URL.Path, "/api/projects/"); {
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		key := r.Header.Get(wire.HeaderKey)
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
		for id, name := range s.projects {
			if name == r.URL.Query().Get("name") {
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
	for range 4 {
		first := create("one")
		if seen[first] || fake.projects[first] != "Shop" {
			t.Fatalf("%s is %q; %v", first, fake.projects[first], fake.made)
		}
		if seen[first] = true; create("one") != first || create("two") != first {
			t.Errorf("%d projects: %v", len(fake.projects), fake.made)
		}
		if len(seen)%2 == 0 {
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

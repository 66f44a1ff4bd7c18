package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"maestro/service/wire"
)

// TestConfigIsReadStrictly: a key that is repeated or in the wrong case, or an invalid id, is named in an error and not
// guessed at.
func TestConfigIsReadStrictly(t *testing.T) {
	for content, good := range map[string]bool{
		`{"project":"proj_1","output":"json"}`:    true,
		`{"listen":"127.0.0.1:4000"}`:             true,
		`{}`:                                      true,
		`{"Project":"proj_1"}`:                    false,
		`{"OUTPUT":"json"}`:                       false,
		`{"project":"proj_1","project":"proj_2"}`: false,
		`{"output":"json","output":"table"}`:      false,
		`{"project":"proj_1\nproj_2"}`:            false,
		`{"project":"proj_1"} {}`:                 false,
		`{"other":1}`:                             false,
		`[]`:                                      false,
		``:                                        false,
	} {
		if c, err := parseConfig("config.json", []byte(content)); (err == nil) != good {
			t.Errorf("%s: %+v, %v", content, c, err)
		}
	}
}

// TestNameMeansUsersProject: a session can neither take over the name of a user's project, nor silently redirect a
// user's command into its own project.
func TestNameMeansUsersProject(t *testing.T) {
	user := wire.Project{ID: "proj_user", Name: "Web shop", CreatedBy: "/users/admin"}
	one := wire.Project{ID: "proj_one", Name: "Web shop", CreatedBy: "/projects/p/sessions/sess_1"}
	two := wire.Project{ID: "proj_two", Name: "Web shop", CreatedBy: "/projects/p/sessions/sess_2"}
	deputy := wire.Project{ID: "proj_deputy", Name: "Web shop", CreatedBy: "/users/deputy"}
	for name, c := range map[string]struct {
		there   []wire.Project
		meant   string
		says    string
		refused bool
	}{
		"the user's alone":       {[]wire.Project{user}, user.ID, "", false},
		"with two of sessions":   {[]wire.Project{one, user, two}, user.ID, "sessions created 2 more projects", false},
		"two of users":           {[]wire.Project{user, deputy, one}, "", "id: proj_user, proj_deputy", true},
		"one of a session":       {[]wire.Project{one}, one.ID, "which session 'sess_1' created", false},
		"only those of sessions": {[]wire.Project{one, two}, "", "session 'sess_1' created proj_one", true},
	} {
		list, err := json.Marshal(append([]wire.Project{}, c.there...))
		if err != nil {
			t.Fatal(err)
		}
		env, asked := answering(t, http.StatusOK, string(list))
		for _, variable := range []string{"MAESTRO_SESSION_ID", "MAESTRO_PROJECT_ID"} {
			delete(env, variable)
		}
		env["MAESTRO_TOKEN"] = "msu_admin"
		got := runHere(t, env, "session", "list", "--project", "Web shop")
		if !strings.Contains(got.stderr, c.says) || c.says == "" && strings.Contains(got.stderr, "made") {
			t.Errorf("%s: it says %q", name, got.stderr)
		}
		last := (*asked)[len(*asked)-1]
		if c.refused != (got.code == ExitInvalid) || c.refused != (len(*asked) == 1) ||
			!c.refused && !strings.Contains(last, "projectId="+c.meant) {
			t.Errorf("%s: %+v, asked %q", name, got, *asked)
		}
	}
}

// TestPrefixMeansUsersProject: nor can it take over the beginning of an id, by creating a project whose id
// begins in the same way.
func TestPrefixMeansUsersProject(t *testing.T) {
	user := wire.Project{ID: "proj_short11111", Name: "Mine", CreatedBy: "/users/admin"}
	deputy := wire.Project{ID: "proj_short22222", Name: "Other", CreatedBy: "/users/deputy"}
	one := wire.Project{ID: "proj_short33333", Name: "Like", CreatedBy: "/projects/p/sessions/sess_1"}
	two := wire.Project{ID: "proj_short44444", Name: "Alike", CreatedBy: "/projects/p/sessions/sess_2"}
	for name, c := range map[string]struct {
		there []wire.Project
		meant string
		says  string
	}{
		"beside a session's": {[]wire.Project{one, user, two}, user.ID, ""},
		"two of users":       {[]wire.Project{user, one, deputy}, "", "(Mine), proj_short22222 (Other)"},
		"one of a session":   {[]wire.Project{one}, one.ID, "which session 'sess_1' created"},
		"two of sessions":    {[]wire.Project{one, two}, "", "(Like), proj_short44444 (Alike)"},
	} {
		list, err := json.Marshal(c.there)
		if err != nil {
			t.Fatal(err)
		}
		env, asked := answering(t, http.StatusOK, string(list))
		delete(env, "MAESTRO_SESSION_ID")
		delete(env, "MAESTRO_PROJECT_ID")
		env["MAESTRO_TOKEN"] = "msu_admin"
		got := runHere(t, env, "session", "list", "--project", "proj_short")
		if !strings.Contains(got.stderr, c.says) || c.says == "" && strings.Contains(got.stderr, "made") {
			t.Errorf("%s: it says %q", name, got.stderr)
		}
		last := (*asked)[len(*asked)-1]
		if refused := c.meant == ""; refused != (got.code == ExitInvalid) ||
			!refused && !strings.Contains(last, "projectId="+c.meant) {
			t.Errorf("%s: %+v, asked %q", name, got, *asked)
		}
	}
}

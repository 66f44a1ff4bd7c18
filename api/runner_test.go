package api_test

import (
	"net/http"
	"testing"

	"maestro/service"
	"maestro/service/wire"
)

// A runner says who it is, what it may do, and what becomes of its sessions, like every other caller.
func TestRunnerOverHTTP(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, secret := w.session(adminToken, project, w.task(project), `,"runner":"local"`)
	runner := service.RunnerToken(serverKey, "local", "", service.FirstGeneration)
	if r := w.send(http.MethodGet, "/api/whoami", runner, "").is(200); r.text("kind") != "runner" {
		t.Errorf("who it is: %s", r.body)
	}
	w.send(http.MethodGet, "/api/commands", runner, "").is(200)
	w.do(runner, "session:claim", `{"sessionId":"`+id+`","host":"box"}`).is(200)
	path := "/api/sessions/" + id
	given := w.send(http.MethodGet, path+"/runner-credential", runner, "").is(200)
	supervisor := given.text("token")
	w.do(supervisor, "session:usage", `{"sessionId":"`+id+`","run":1,"turns":2}`).is(200)
	for _, read := range []string{"", "/timeline", "/mail", "/manifest", "/workflow", "/credential"} {
		w.send(http.MethodGet, path+read, supervisor, "").is(200)
	}
	if got := w.send(http.MethodGet, path+"/credential", supervisor, "").is(200).text("token"); got != secret {
		t.Errorf("the secret is %q", got)
	}
	for _, read := range []string{"/api/sessions", "/api/tasks", "/api/inbox", "/api/live", path + "/queue"} {
		w.send(http.MethodGet, read, supervisor, "").refused(403, "NOT_ALLOWED", "")
	}
	w.send(http.MethodGet, path+"/runner-credential", secret, "").refused(403, "NOT_ALLOWED", "has a runner")
	w.do(supervisor, "session:exited", `{"sessionId":"`+id+`","run":1,"exitCode":1}`).is(200)
	w.do(adminToken, "session:resume", `{"sessionId":"`+id+`"}`).is(200)
	w.send(http.MethodGet, path, supervisor, "").refused(401, wire.CodeUnauthenticated, "revoked")
}

package api_test

import (
	"net/http"
	"testing"
)

// The server says whether a command is allowed, under any of its names; it says that an unknown id is unknown.
func TestCheckOfACommand(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	_, worker := w.session(adminToken, project, w.task(project), ``)
	for _, c := range []struct{ name, token, id, want string }{
		{
			"allowed", worker, "task:create",
			`{"command":"task:create","allowed":true,"role":"worker","strategy":"simple"}`,
		},
		{"another name", worker, "task:report:progress", `{"command":"task:report:progress","allowed":true}`},
		{"refused", worker, "task:complete", `{"allowed":false,"why":"it is for: orchestrator, user"}`},
		{"the user's", adminToken, "task:complete", `{"allowed":true,"role":"user","strategy":""}`},
		{"no command", worker, "nonsense", `{"allowed":false,"unknown":true,"why":"no command has this id"}`},
	} {
		like(t, c.name, c.want, any(w.send(http.MethodGet, "/api/commands/"+c.id, c.token, "").is(200).object()))
	}
}

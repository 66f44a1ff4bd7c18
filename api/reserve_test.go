package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// TestBodiesInProgressAreLimited: the memory of uploads is bounded for each session, for each project and for the
// server, whether or not they declare their length; meanwhile others' short commands and the admin's uploads are
// accepted.
func TestBodiesInProgressAreLimited(t *testing.T) {
	for limit, most := range map[string]string{
		"session-bodies": "200000", "project-bodies": "200000",
		"server-bodies": "400000", // a quarter of it is reserved for admins, and one project gets half of the rest
	} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"="+most))
			project := w.project()
			_, hostile := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
			_, honest := w.session(adminToken, project, w.task(project), "")
			upload := func(token string, body io.Reader) int {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/manifests",
					body)
				r.ContentLength = -1
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				w.api.ServeHTTP(answer, r)
				return answer.Code
			}
			held, more := io.Pipe()
			var all sync.WaitGroup
			all.Go(func() { upload(hostile, held) })
			_, _ = more.Write(make([]byte, 140_000))
			synctest.Wait()
			if status := upload(hostile, strings.NewReader(strings.Repeat(" ", 140_000))); status != 429 {
				t.Errorf("%s: one more upload gets %d", limit, status)
			}
			w.do(honest, "report:progress", note).is(200)
			if status := upload(adminToken, strings.NewReader(strings.Repeat(" ", 50_000))); status != 422 {
				t.Errorf("%s: the admin's upload gets %d", limit, status)
			}
			_ = more.Close()
			all.Wait()
			if status := upload(hostile, strings.NewReader(strings.Repeat(" ", 140_000))); status != 422 {
				t.Errorf("%s: after that an upload gets %d", limit, status)
			}
		})
	}
}

// TestRefusedSpawnsUseNoQuota: workers, ended sessions and dry runs do not use up a project's quota of spawns.
func TestRefusedSpawnsUseNoQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "project-spawns=0.01/1", "project-commands=0.01/100"))
		project := w.project()
		task := w.task(project)
		_, worker := w.session(adminToken, project, task, "")
		id, killed := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
		body := `{"taskIds":["` + task + `"]}`
		for range 3 {
			w.do(worker, "session:spawn", body).is(403)
			w.do(killed, "session:spawn", body)
			w.do(orchestrator, "session:spawn?dryRun=true", body).is(200)
		}
		for range 200 { // a killed session uses up its own quota
			w.do(killed, "session:note", `{}`)
		}
		w.do(orchestrator, "session:spawn", body).is(200)
	})
}

// TestAdminsHaveAReserve: readers cannot use the part of the server's resources that is reserved for admins.
func TestAdminsHaveAReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "server-streams=4", "reader-streams=0"))
		reader := w.token("eyes", "auditor")
		h := &held{read: make(chan struct{})}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/audit/export",
					nil)
				r.Header.Set("Authorization", "Bearer "+reader)
				w.api.ServeHTTP(&unread{ResponseRecorder: httptest.NewRecorder(), held: h}, r)
			})
		}
		synctest.Wait()
		w.send(http.MethodGet, "/api/audit/export", reader, "").limited("server-streams")
		w.send(http.MethodGet, "/api/audit/export", adminToken, "").is(200)
		close(h.read)
		all.Wait()
	})
}

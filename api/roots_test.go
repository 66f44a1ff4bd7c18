package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/engine"
	"maestro/service/wire"
)

// made creates a project and a task in it as a session, and returns their ids.
func (w *world) made(token string) (project, task string) {
	w.Helper()
	project = w.do(token, "project:create", `{"name":"P"}`).is(200).text("event", "data", "projectId")
	body := `{"project":"` + project + `","title":"T"}`
	return project, w.do(token, "task:create", body).is(200).text("event", "data", "taskId")
}

// projectFamily creates a project with an orchestrator, a project created by that orchestrator with another
// orchestrator, and a project created by the second with a worker. It returns the projects and the tokens.
func (w *world) projectFamily() (projects, tokens []string) {
	w.Helper()
	root := w.project()
	_, boss := w.session(adminToken, root, w.task(root), `,"role":"orchestrator"`)
	below, task := w.made(boss)
	_, child := w.session(boss, below, task, `,"role":"orchestrator"`)
	lowest, task := w.made(child)
	_, worker := w.session(child, lowest, task, "")
	return []string{root, below, lowest}, []string{boss, child, worker}
}

// TestCreatedProjectsDrawOnTheirRoot: each quota of a project is shared by its root and all projects below it.
func TestCreatedProjectsDrawOnTheirRoot(t *testing.T) {
	report := func(w *world, _, token string) reply { return w.do(token, "report:progress", note) }
	read := func(w *world, _, token string) reply { return w.send(http.MethodGet, "/api/whoami", token, "") }
	task := func(w *world, project, _ string) reply {
		return w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T"}`)
	}
	spawn := func(w *world, project, token string) reply {
		body := fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, w.task(project))
		return w.do(token, "session:spawn", body)
	}
	create := func(w *world, _, token string) reply { return w.do(token, "project:create", `{"name":"P"}`) }
	upload := func(w *world, project, token string) reply {
		return w.send(http.MethodPost, "/api/manifests", token, goodFor(project, w.task(project), ""))
	}
	for _, c := range []struct {
		limit string // exceeded after each of the family has called once more
		call  func(w *world, project, token string) reply
		// orchestrators: the worker may not use the call.
		orchestrators bool
		code          string
		// crowd: above the limit of the project, the price rises.
		crowd bool
	}{
		{"project-commands=0.001/9", report, false, "RATE_LIMITED", true},
		{"project-bytes=0.001/280", report, false, "RATE_LIMITED", true},
		{"project-reads=0.001/3", read, false, "RATE_LIMITED", true},
		{"project-spawns=0.001/4", spawn, true, "RATE_LIMITED", false},
		{"project-creates=0.001/4", create, true, "RATE_LIMITED", false},
		{"project-uploads=0.001/1900", upload, true, "RATE_LIMITED", false},
		{"project-projects=4", create, true, "QUOTA_EXCEEDED", false},
		{"project-tasks=6", task, false, "QUOTA_EXCEEDED", false},
		{"project-sessions=5", spawn, true, "QUOTA_EXCEEDED", false},
		{"project-questions=3", func(w *world, _, token string) reply {
			return w.do(token, "report:needs-input", `{"message":"what?"}`)
		}, false, "QUOTA_EXCEEDED", false},
	} {
		t.Run(c.limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Over a project's limit, a session goes on at ten times the price; here it cannot afford that.
				all := []string{c.limit}
				if poor := strings.Replace(c.limit, "project", "session", 1); c.crowd {
					all = append(all, poor)
				}
				w := openInside(t, limits(t, all...))
				projects, tokens := w.projectFamily()
				other := w.project()
				_, honest := w.session(adminToken, other, w.task(other), `,"role":"orchestrator"`)
				if c.orchestrators {
					projects, tokens = projects[:2], tokens[:2]
				}
				done := 0
				for i := range 40 {
					member := i % len(tokens)
					r := c.call(w, projects[member], tokens[member])
					if r.status == http.StatusTooManyRequests {
						r.refused(http.StatusTooManyRequests, c.code, "")
						break
					}
					if r.status >= 300 {
						t.Fatalf("%d: %d %s", i, r.status, r.body)
					}
					done++
				}
				if done > len(tokens) {
					t.Errorf("the family called %d more times", done)
				}
				if done == 0 {
					t.Errorf("no call of the family was accepted")
				}
				if r := c.call(w, other, honest); r.status >= 300 {
					t.Errorf("another project: %d %s", r.status, r.body)
				}
			})
		})
	}
}

// TestCreatedProjectsWaitTogether: the quotas of calls in progress are shared too.
func TestCreatedProjectsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "project-waits=2"))
		projects, _ := w.projectFamily()
		var all sync.WaitGroup
		for i, project := range projects {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"work"}`).is(200)
			token := w.queueSession(project, "work")
			if i == 2 {
				w.do(token, "queue:start?wait=5s", `{}`).limited("project-waits")
				break
			}
			all.Go(func() { w.do(token, "queue:start?wait=25s", `{}`).is(200) })
			synctest.Wait()
		}
		all.Wait()
	})
}

// TestProjectsOfSessionsAreLimited: only the projects that sessions create are bounded; deleting one makes room.
func TestProjectsOfSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "project-projects=2"))
		project := w.project()
		task := w.task(project)
		_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		_, worker := w.session(adminToken, project, task, "")
		create := func(token string, header ...string) reply {
			return w.do(token, "project:create", `{"name":"P"}`, header...)
		}
		first := create(boss, wire.HeaderKey, "one").is(200).text("event", "data", "projectId")
		create(boss).is(200)
		r := create(boss).refused(http.StatusTooManyRequests, "QUOTA_EXCEEDED", "")
		if r.text("details", "limit") != "project-projects" || r.header.Get("Retry-After") == "" ||
			r.text("why") == "" || r.text("next") == "" {
			t.Errorf("%s, Retry-After %q", r.body, r.header.Get("Retry-After"))
		}
		create(boss, wire.HeaderKey, "one").is(200) // a retry
		create(worker).refused(http.StatusForbidden, "NOT_ALLOWED", "")
		w.project()
		w.do(boss, "project:delete", `{"projectId":"`+first+`"}`).is(200)
		create(boss).is(200)
	})
}

// TestRefusedSpawnsAreNotCharged: a refused spawn or project creation, and a retry, use up no quota.
func TestRefusedSpawnsAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-spawns=0.001/2", "project-spawns=0.001/2",
			"session-creates=0.001/1", "project-creates=0.001/1"))
		project := w.project()
		task := w.task(project)
		_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		good := `{"taskIds":["` + task + `"]}`
		older := `{"projectId":"` + project + `","taskIds":["` + task + `"]`
		w.do(boss, "session:spawn", good, wire.HeaderKey, "one").is(200)
		for range 3 {
			w.do(boss, "session:spawn", `{"taskIds":["none"]}`).refused(404, "NOT_FOUND", "")
			w.do(boss, "session:spawn", good[:10]).refused(400, "VALIDATION_ERROR", "")
			w.do(boss, "session:spawn", `{"taskIds":["`+task+`"],"timeout":-1}`).refused(400, "VALIDATION_ERROR", "")
			w.send(http.MethodPost, "/api/sessions/spawn", boss, older+`,"role":"none"}`).is(400)
			w.send(http.MethodPost, "/api/sessions/spawn", boss, older+`,"sessionName":"`+"\\u0000"+`"}`).is(400)
			w.do(boss, "session:spawn", good, wire.HeaderKey, "one").is(200)
			w.do(boss, "session:spawn?dryRun=true", good).is(200)
			w.do(boss, "project:create", `{"name":" "}`).refused(400, "VALIDATION_ERROR", "")
			w.send(http.MethodPost, "/api/projects", boss, `{"name":" "}`).is(400)
		}
		w.send(http.MethodPost, "/api/sessions/spawn", boss, older+"}").is(201)
		w.do(boss, "session:spawn", good).limited("session-spawns")
		w.do(boss, "project:create", `{"name":"P"}`).is(200)
		w.do(boss, "project:create", `{"name":"P"}`).limited("session-creates")
	})
}

// TestUploadsAreLimited: the manifests that sessions store are bounded, even those that no event names.
func TestUploadsAreLimited(t *testing.T) {
	for _, limit := range []string{"session-uploads", "project-uploads"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=1/100"))
			project := w.project()
			task := w.task(project)
			_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
			upload := func(token string) reply {
				return w.send(http.MethodPost, "/api/manifests", token, goodFor(project, task, ""))
			}
			upload(boss).is(200)
			time.Sleep(upload(boss).limited(limit))
			upload(boss).is(200)
			upload(adminToken).is(200)
		})
	}
}

// TestSlowBodiesTakeNoPlaceOfWaits: a call counts as waiting only once its body has arrived.
func TestSlowBodiesTakeNoPlaceOfWaits(t *testing.T) {
	for _, limit := range []string{"session-waits", "project-waits", "server-waits"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=1"))
			project := w.project()
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"work"}`).is(200)
			hostile := w.queueSession(project, "work")
			honest := hostile
			if limit != "session-waits" {
				honest = w.queueSession(project, "work")
			}
			body, more := io.Pipe()
			var all sync.WaitGroup
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost,
					"http://localhost/api/commands/queue:start?wait=25s", body)
				r.Header.Set("Authorization", "Bearer "+hostile)
				r.Header.Set("Content-Type", "application/json")
				r.ContentLength = 2
				w.api.ServeHTTP(httptest.NewRecorder(), r)
			})
			_, _ = more.Write([]byte("{"))
			synctest.Wait()
			if r := w.do(honest, "queue:start?wait=1s", `{}`); r.status != http.StatusOK {
				t.Errorf("%s: while a body arrives slowly: %d %s", limit, r.status, r.body)
			}
			_ = more.Close()
			all.Wait()
		})
	}
}

// TestRefusalsOfCreatedProjects: the workers of a hundred projects, created by an orchestrator and its child, displace
// none of an honest worker's refusals, and all stored refusals are listed.
func TestRefusalsOfCreatedProjects(t *testing.T) {
	const projects, each = 100, 116
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "project-projects=0", "session-creates=0", "project-creates=0"))
		quiet := w.project()
		id, honest := w.session(adminToken, quiet, w.task(quiet), "")
		root := w.project()
		_, boss := w.session(adminToken, root, w.task(root), `,"role":"orchestrator"`)
		below, task := w.made(boss)
		_, child := w.session(boss, below, task, `,"role":"orchestrator"`)
		var hostile []string
		for i := range projects {
			by := []string{boss, child}[i%2]
			project, task := w.made(by)
			_, token := w.session(by, project, task, "")
			hostile = append(hostile, token)
		}
		for n := range each {
			if n%50 == 0 {
				time.Sleep(time.Minute)
			}
			body := fmt.Sprintf(`{"taskId":"none-%d"}`, n)
			w.do(honest, "task:complete", body).is(403)
			for _, token := range hostile {
				w.do(token, "task:complete", body).is(403)
			}
		}
		if got := len(w.denied("?limit=10000&actor=" + id)); got != each {
			t.Errorf("%d of the honest worker's %d refusals are stored", got, each)
		}
		all := w.allDenied(1000)
		if most := engine.DefaultDenialBounds().Records; len(all) != most {
			t.Errorf("%d refusals are listed, of %d", len(all), most)
		}
	})
}

// allDenied reads the refusals page by page.
func (w *world) allDenied(limit int) (all []engine.Denial) {
	w.Helper()
	for next := ""; ; {
		path := fmt.Sprintf("/api/audit/denials?limit=%d&cursor=%s", limit, next)
		r := w.send(http.MethodGet, path, adminToken, "").is(200)
		var page []engine.Denial
		r.into(&page)
		all = append(all, page...)
		if next = r.header.Get(wire.HeaderNext); next == "" {
			return all
		}
	}
}

// TestAllRefusalsAreListed: without a limit the first page begins with the oldest refusal, and the pages contain each
// refusal once, even while others are recorded and counted.
func TestAllRefusalsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, func(c *setup) {})
		project := w.project()
		task := w.task(project)
		total := 0
		refuse := func(token string, n int) {
			for range n {
				w.do(token, "task:complete", fmt.Sprintf(`{"taskId":"none-%d"}`, total)).is(403)
				total++
			}
		}
		for range 24 {
			_, token := w.session(adminToken, project, task, "")
			refuse(token, 50)
		}
		_, token := w.session(adminToken, project, task, "")
		seen := map[uint64]bool{}
		r := w.send(http.MethodGet, "/api/audit/denials", adminToken, "").is(200)
		for {
			var page []engine.Denial
			r.into(&page)
			for _, d := range page {
				if seen[d.Number] {
					t.Errorf("record %d is listed twice", d.Number)
				}
				seen[d.Number] = true
			}
			next := r.header.Get(wire.HeaderNext)
			if next == "" {
				break
			}
			w.do(token, "task:complete", `{"taskId":"none-0"}`).is(403) // one more, which increments a count
			r = w.send(http.MethodGet, "/api/audit/denials?limit=100&cursor="+next, adminToken, "").is(200)
		}
		if len(seen) != total+1 {
			t.Errorf("%d refusals are listed, of %d", len(seen), total+1)
		}
		if newest := w.denied("?limit=3"); len(newest) != 3 || newest[2].Number != uint64(total)+1 {
			t.Errorf("the newest are %+v", newest)
		}
	})
}

// TestManifestsOfSpawnsAreLimited: what a spawn makes the server keep counts as if the spawner had uploaded it.
func TestManifestsOfSpawnsAreLimited(t *testing.T) {
	for _, limit := range []string{"session-uploads", "project-uploads"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=1/100"))
			project := w.project()
			task := w.task(project)
			_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
			spawn := func(token string) reply {
				return w.do(token, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
			}
			spawn(boss).is(200)
			before := len(w.blobs.blobs)
			spawn(boss).limited(limit)
			if len(w.blobs.blobs) != before {
				t.Error("the manifest of a spawn over the limit was kept")
			}
			spawn(adminToken).is(200)
		})
	}
}

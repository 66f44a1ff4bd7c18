package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// TestReadsChangeNothing: with auth off, no read below /api appends an event, brings a lost session back, or records a
// refusal, and none reads the log unless its caller says that it is a program. Any web page could send such a read, as
// the address of an image.
func TestReadsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &countingLog{}
		w := openInside(t, func(c *setup) {
			withLeases(t, time.Minute)(c)
			c.AuthOff = true
			log.memoryLog = c.Log.(*memoryLog)
			c.Log = log
		})
		stop := w.keepLeases()
		project := w.project()
		task := w.task(project)
		lost, token := w.session(adminToken, project, task, `,"strategy":"queue"`)
		w.send(http.MethodPost, "/api/sessions/"+lost+"/heartbeat", token, "").is(204)
		narrow, _ := w.session(adminToken, project, task, `,"allowedCommands":["whoami"]`)
		for range 200 {
			w.do(adminToken, "session:note", `{"sessionId":"`+narrow+`","message":"m"}`).is(200)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		stop() // no more events because of time
		if w.count("maestro.session.lost.v1") != 1 {
			t.Fatal("no session is lost")
		}
		digest := w.manifestOf(narrow)
		head, long := w.log.head(), 0
		refusals := len(w.denials.List(nil))
		for _, route := range w.readRoutes() {
			for _, id := range []string{lost, narrow, task, project, "none"} {
				path := strings.NewReplacer("{id}", id, "{id...}", id, "{digest}", digest, "{role}", "worker",
					"{name}", id).Replace(route)
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					log.read = 0
					r := w.send(method, path, "", "")
					if w.log.head() != head {
						t.Fatalf("%s %s wrote an event", method, path)
					}
					if len(w.denials.List(nil)) != refusals {
						t.Fatalf("%s %s recorded a refusal", method, path)
					}
					if log.read > 20 {
						t.Errorf("%s %s read %d messages of the log", method, path, log.read)
					}
					if r.status == http.StatusForbidden && strings.Contains(string(r.body), wire.HeaderClient) {
						long++
						w.send(method, path, adminToken, "")
						w.send(method, path, "", "", wire.HeaderClient, "test")
					}
				}
			}
		}
		if long == 0 {
			t.Error("no route reads the log")
		}
		w.send(http.MethodGet, "/api/audit/verify", "", "").refused(403, "NOT_ALLOWED", wire.HeaderClient)
		w.send(http.MethodGet, "/api/audit/verify", "", "", wire.HeaderClient, "test").is(200)
		w.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200)
		// Any call with a credential counts as heard, and its refusals are recorded.
		w.send(http.MethodGet, "/api/sessions/"+lost, token, "").is(200)
		w.send(http.MethodGet, "/api/audit/head", token, "").is(403)
		if w.count("maestro.session.recovered.v1") != 1 || len(w.denials.List(nil)) != refusals+1 {
			t.Error("a call with a credential is not heard, or its refusal is not recorded")
		}
	})
}

// With auth off, a browser that says that another site's page sent the request gets nothing, whatever the request.
func TestPagesOfOtherSites(t *testing.T) {
	w := open(t, authOff)
	project := w.send(http.MethodPost, "/api/projects", "", `{"name":"Old"}`).is(201).text("id")
	head := w.log.head()
	for _, site := range []string{"cross-site", "same-site", "other"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			r := w.send(method, "/api/projects/"+project, "", "", "Sec-Fetch-Site", site)
			if r.status != http.StatusForbidden || method == http.MethodGet && r.text("code") != "SITE_NOT_ALLOWED" {
				t.Errorf("%s from %s: %d %s", method, site, r.status, r.body)
			}
		}
	}
	if w.log.head() != head {
		t.Error("something was written")
	}
	for _, site := range []string{"", "none", "same-origin"} {
		w.send(http.MethodGet, "/api/projects/"+project, "", "", "Sec-Fetch-Site", site).is(200)
	}
	// Without that header, a foreign Origin is refused, and an allowed page is accepted.
	w.send(http.MethodGet, "/api/projects", "", "", "Origin", "https://evil.example").refused(403, "ORIGIN_NOT_ALLOWED",
		"")
	w.send(http.MethodGet, "/api/projects", "", "", "Origin", "https://page.example", "Sec-Fetch-Site",
		"cross-site").is(200)
	// With auth on, the token decides who the caller is.
	w = open(t, nil)
	w.send(http.MethodGet, "/api/projects", adminToken, "", "Sec-Fetch-Site", "cross-site").is(200)
}

// A repeated header is refused, because its second value would not be checked.
func TestRepeatedOriginHeaders(t *testing.T) {
	for name, settings := range map[string]func(*setup){"auth off": authOff, "auth on": nil} {
		w := open(t, settings)
		for header, values := range map[string][]string{
			"Origin":         {"https://page.example", "https://evil.example"},
			"Sec-Fetch-Site": {"same-origin", "cross-site"},
		} {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/projects", nil)
			req.RequestURI = ""
			req.Header.Set("Authorization", "Bearer "+adminToken)
			req.Header[header] = values
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if closed := answer.Body.Close(); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "ORIGIN_NOT_ALLOWED") {
				t.Errorf("%s, %s twice: %d %s", name, header, answer.StatusCode, body)
			}
		}
	}
}

// The bodies of older routes are parsed as strictly as the others, except that unknown names are accepted.
func TestNamesInOlderBodies(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	session, _ := w.session(adminToken, project, task, ``)
	for _, test := range []struct{ method, path, body, message string }{
		{http.MethodPost, "/api/projects", `{"name":"a","name":"b"}`, "appears twice"},
		{http.MethodPost, "/api/projects", `{"Name":"a"}`, `write "name"`},
		{http.MethodPost, "/api/projects", `{"name":"a","NAME":"b"}`, `write "name"`},
		{http.MethodPost, "/api/projects", `{"name":"a","\u006eame":"b"}`, "appears twice"},
		{http.MethodPost, "/api/tasks", `{"projectId":"` + project + `","title":"a","Title":"b"}`, `write "title"`},
		{http.MethodPatch, "/api/tasks/" + task, `{"status":"completed","status":"blocked"}`, "appears twice"},
		{http.MethodPatch, "/api/tasks/" + task, `{"STATUS":"completed"}`, `write "status"`},
		{http.MethodPatch, "/api/tasks/" + task, `{"title":"x","unknown":{"a":1,"a":2}}`, "appears twice"},
		{http.MethodPatch, "/api/sessions/" + session, `{"Status":"running"}`, `write "status"`},
		{
			http.MethodPost, "/api/sessions/spawn", `{"projectId":"` + project + `","taskids":["` + task + `"]}`,
			`write "taskIds"`,
		},
	} {
		head := w.log.head()
		w.send(test.method, test.path, adminToken, test.body).refused(400, "VALIDATION_ERROR", test.message)
		if w.log.head() != head {
			t.Errorf("%s %s wrote something", test.path, test.body)
		}
	}
	w.send(http.MethodPost, "/api/projects", adminToken, `{"name":"a","unknown":1,"Unknown":2}`).is(201)
}

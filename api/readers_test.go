package api_test

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// TestReaderRequestsAreBounded: the manifests that a reader generates and its refused writes count against its quotas,
// and so does their work; other callers are not affected.
func TestReaderRequestsAreBounded(t *testing.T) {
	const calls = 3
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "reader-commands=0.001/3"))
		project := w.project()
		generate := `{"taskIds":["` + w.task(project) + `"]}`
		create := `{"project":"` + project + `","title":"T"}`
		one, other := w.token("one", "read-only", project), w.token("other", "auditor")
		for range calls {
			w.send(http.MethodPost, "/api/manifests/generate", one, generate).is(200)
			w.do(other, "task:create", create).refused(403, "NOT_ALLOWED", "")
		}
		w.send(http.MethodPost, "/api/manifests/generate", one, generate).limited("reader-commands")
		w.do(other, "task:create", create).limited("reader-commands")
		w.do(adminToken, "task:create", create).is(200)

		worker := w.token("worker", "read-only", project)
		large := `{"taskIds":` + w.tasksWaiting(project, 200, 50) + `}`
		w.send(http.MethodPost, "/api/manifests/generate", worker, large).is(200)
		w.send(http.MethodPost, "/api/manifests/generate", worker, generate).limited("reader-commands")
	})
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "reader-bytes=0.001/100"))
		reader := w.token("one", "auditor")
		w.do(reader, "task:create", `{"title":"T"}`).refused(403, "NOT_ALLOWED", "")
		w.do(reader, "task:create", `{"title":"`+string(make([]byte, 200))+`"}`).limited("reader-bytes")
	})
}

package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"maestro/service/wire"
)

// TestListsComeInPages: lists of native routes always have pages; those of older clients have pages on request.
func TestListsComeInPages(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	id, token := w.session(adminToken, project, task, "")
	for i := range 1004 {
		w.do(token, "report:progress", fmt.Sprintf(`{"message":"m%d","taskIds":[%q]}`, i, task)).is(200)
	}
	for i := range 6 {
		w.do(adminToken, "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i)).is(200)
		w.do(token, "task:complete", fmt.Sprintf(`{"taskId":"t%d"}`, i)).refused(403, "NOT_ALLOWED", "")
	}
	get := func(path string) reply { return w.send(http.MethodGet, path, adminToken, "").is(200) }
	walk := func(path string) (lengths []int, ids map[string]bool) {
		ids = map[string]bool{}
		for next := "&cursor="; next != ""; {
			r := get(path + next)
			list := r.array()
			lengths = append(lengths, len(list))
			for _, item := range list {
				key, _ := item.(map[string]any)
				ids[fmt.Sprint(key["id"], key["actor"])] = true
			}
			if next = r.header.Get(wire.HeaderNext); next != "" {
				next = "&cursor=" + next
			}
		}
		return lengths, ids
	}

	timeline := "/api/sessions/" + id + "/timeline"
	if r := get(timeline); len(r.array()) != 1000 || r.header.Get(wire.HeaderNext) == "" {
		t.Errorf("the first page has %d entries, the next is %q", len(r.array()), r.header.Get(wire.HeaderNext))
	}
	if r := get(timeline + "?limit=3"); len(r.array()) != 3 || r.header.Get(wire.HeaderNext) != "" {
		t.Errorf("the newest three are %d, the next is %q", len(r.array()), r.header.Get(wire.HeaderNext))
	}
	if lengths, ids := walk(timeline + "?limit=500"); len(lengths) != 3 || lengths[0] != 500 || len(ids) < 1005 {
		t.Errorf("pages of %v with %d entries", lengths, len(ids))
	}
	if lengths, ids := walk("/api/tasks/" + task + "/timeline?minSeq=0"); len(lengths) != 2 || len(ids) < 1004 {
		t.Errorf("pages of %v with %d entries", lengths, len(ids))
	}
	if r := get("/api/tasks"); len(r.array()) != 7 || r.header.Get(wire.HeaderNext) != "" {
		t.Errorf("older clients get %d tasks, the next page is %q", len(r.array()), r.header.Get(wire.HeaderNext))
	}
	if lengths, ids := walk("/api/tasks?limit=3"); len(lengths) != 3 || len(ids) != 7 {
		t.Errorf("pages of %v with %d tasks", lengths, len(ids))
	}
	if lengths, _ := walk("/api/sessions?limit=1"); len(lengths) != 1 {
		t.Errorf("pages of %v", lengths)
	}
	if lengths, ids := walk("/api/audit/denials?limit=4"); len(lengths) < 1 || len(ids) < 1 {
		t.Errorf("pages of %v with %d refusals", lengths, len(ids))
	}
	for _, bad := range []string{"?limit=-1", "?limit=0", "?limit=10001", "?limit=x", "?cursor=x"} {
		w.send(http.MethodGet, timeline+bad, adminToken, "").refused(400, "VALIDATION_ERROR", "")
	}
}

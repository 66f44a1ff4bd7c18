package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestTaskFilters(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	create := func(body string) string {
		t.Helper()
		return w.send(http.MethodPost, "/api/tasks", adminToken,
			`{"projectId":"`+project+`","title":"T"`+body+`}`).is(201).text("id")
	}
	parent := create(`,"priority":"high"`)
	model := create(``)
	waits := create(`,"parentId":"` + parent + `","priority":"high","dependencies":["` + model + `"]`)
	first := create(`,"parentId":"` + parent + `"`)
	w.send(http.MethodPost, "/api/commands/task:update", adminToken,
		`{"taskId":"`+parent+`","dependencies":["`+first+`"]}`).is(200)

	for query, want := range map[string][]string{
		"":                                      {parent, model, waits, first},
		"ready=true":                            {model, first},
		"priority=high":                         {parent, waits},
		"priority=high&ready=true":              {},
		"order=dependencies":                    {first, parent, model, waits},
		"order=dependencies&parentId=null":      {parent, model},
		"order=dependencies&parentId=" + parent: {first, waits},
	} {
		var got []string
		for _, shown := range w.send(http.MethodGet, "/api/tasks?projectId="+project+"&"+query, adminToken,
			"").is(200).array() {
			got = append(got, shown.(map[string]any)["id"].(string))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"order=name", "ready=false"} {
		w.send(http.MethodGet, "/api/tasks?"+query, adminToken, "").is(400)
	}
	progress := w.send(http.MethodGet, "/api/tasks/"+parent, adminToken, "").is(200).at("progress", "total")
	if progress != 2.0 {
		t.Errorf("the parent of two has %v below it", progress)
	}
}

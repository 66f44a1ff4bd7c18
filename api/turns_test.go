package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/service"
)

// After its first parts, a long answer waits for its turn; short answers and commands do not wait.
func TestLongAnswersWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served *service.Service
		w := openInside(t, func(s *setup) { s.serving = func(is *service.Service) { served = is } })
		project := w.project()
		text := strings.Repeat("x", 1000)
		for i := range 190 { // their views are created at once
			body := fmt.Sprintf(`{"project":%q,"title":"T%d","description":%q,"initialPrompt":%q}`,
				project, i, text, text)
			w.do(adminToken, "task:create", body).is(200)
		}
		var taken []service.Turn
		for range max(1, runtime.GOMAXPROCS(0)/2) {
			other := &service.Caller{}
			turn, err := served.Turn(t.Context(), other)
			for turn == (service.Turn{}) && err == nil { // the first parts are free
				turn, err = served.Turn(t.Context(), other)
			}
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, turn)
		}
		long := make(chan reply, 1)
		go func() { long <- w.send(http.MethodGet, "/api/tasks?limit=190&projectId="+project, adminToken, "") }()
		synctest.Wait()
		if len(long) > 0 {
			t.Error("a long answer waits for no turn")
		}
		w.send(http.MethodGet, "/api/tasks?limit=20&projectId="+project, adminToken, "").is(200)
		w.do(adminToken, "task:create", `{"project":"`+project+`","title":"more"}`).is(200)
		for i := range taken {
			taken[i].End()
		}
		(<-long).is(200)
	})
}

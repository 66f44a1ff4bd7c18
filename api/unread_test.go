package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/testing/race"
	"maestro/service/wire"
)

// unread is a caller that does not read its answer until it is released.
type unread struct {
	*httptest.ResponseRecorder
	held *held
	once sync.Once
}

// held counts the bytes rendered for callers that do not read.
type held struct {
	mu    sync.Mutex
	bytes int
	calls int
	read  chan struct{}
}

func (u *unread) Write(b []byte) (int, error) {
	u.held.mu.Lock()
	u.held.bytes += cap(b)
	u.held.mu.Unlock()
	u.once.Do(func() { u.held.mu.Lock(); u.held.calls++; u.held.mu.Unlock() })
	if u.Code < 300 {
		<-u.held.read
	}
	u.held.mu.Lock()
	u.held.bytes -= cap(b)
	u.held.mu.Unlock()
	return u.ResponseRecorder.Write(b)
}

// TestUnreadAnswersHoldLittle: a session with 3 MB of reports requests them many times and reads nothing. The memory
// rendered for it stays below its budget, other callers get their answers, and an answer that is finally read is
// complete.
func TestUnreadAnswersHoldLittle(t *testing.T) {
	t.Parallel()
	const said, calls = 50, 100
	message := strings.Repeat("x", 60<<10)
	synctest.Test(t, func(t *testing.T) {
		// The number of parallel calls is not limited, so only the budget bounds the rendered memory.
		w := openInside(t, limits(t, "session-bytes=0", "session-parallel=0", "session-answers=1000000"))
		project := w.project()
		task := w.task(project)
		id, token := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		for range said {
			w.do(token, "report:progress", `{"message":"`+message+`","taskIds":["`+task+`"]}`).is(200)
		}
		for _, path := range []string{
			"/api/sessions/" + id,
			"/api/sessions/" + id + "/timeline?limit=10000",
			"/api/tasks/" + task + "/timeline?limit=10000",
			"/api/sessions",
		} {
			h, answers, wait := w.unread(path, token, calls)
			h.mu.Lock()
			if h.bytes > 2_000_000 {
				t.Errorf("%s: %d bytes are rendered for a caller that does not read", path, h.bytes)
			}
			h.mu.Unlock()
			w.send(http.MethodGet, "/api/sessions/"+id+"/timeline?limit=1", adminToken, "").is(200)
			wait()
			whole, refused := 0, 0
			for _, a := range answers {
				switch {
				case a.Code == 200 && strings.Count(a.Body.String(), message) == said:
					whole++
				case a.Code == http.StatusTooManyRequests:
					refused++
				default:
					t.Errorf("%s: an answer of %d bytes with status %d", path, a.Body.Len(), a.Code)
				}
			}
			if whole == 0 || refused == 0 {
				t.Errorf("%s: %d answers are complete, %d calls were refused", path, whole, refused)
			}
			time.Sleep(time.Hour) // the budgets are full again
		}
	})
}

// unread makes calls whose answers nobody reads, and returns when those that waited for their turn have given up. wait
// lets the answers be read and returns when all have ended.
func (w *world) unread(path, token string, calls int) (h *held, answers []*unread, wait func()) {
	w.Helper()
	h = &held{read: make(chan struct{})}
	var all sync.WaitGroup
	answers = make([]*unread, calls)
	for i := range answers {
		answers[i] = &unread{ResponseRecorder: httptest.NewRecorder(), held: h}
		r := httptest.NewRequestWithContext(w.Context(), http.MethodGet, "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		all.Go(func() { w.api.ServeHTTP(answers[i], r) })
	}
	synctest.Wait()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	return h, answers, func() {
		close(h.read)
		all.Wait()
	}
}

// TestUnreadListsHoldLittle: a session requests many times a late page of a long list, or a long tree, and reads
// nothing. The server's memory for it stays near its budget: it holds neither the items before the page nor a whole
// answer. The test measures the heap, so nothing else may run in parallel.
func TestUnreadListsHoldLittle(t *testing.T) {
	race.Without(t)
	const tasks, calls = 3000, 8
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-answers=3000000", "session-reads=0"))
		project := w.project()
		root := w.task(project)
		text := strings.Repeat("x", 2000)
		for range tasks {
			w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T","parentId":"`+root+`",`+
				`"description":"`+text+`"}`).is(200)
		}
		_, token := w.session(adminToken, project, root, `,"role":"orchestrator"`)
		page := w.send(http.MethodGet, fmt.Sprintf("/api/tasks?limit=%d", tasks-100), token, "").is(200)
		for _, path := range []string{
			"/api/tasks?limit=10000&cursor=" + page.header.Get(wire.HeaderNext),
			"/api/tasks/" + root + "/tree",
		} {
			before := heap()
			_, answers, wait := w.unread(path, token, calls)
			if more := heap() - before; more > 4_000_000 {
				t.Errorf("%s: %d bytes are held for a caller that does not read", path, more)
			}
			wait()
			if !slices.ContainsFunc(answers, func(a *unread) bool {
				return a.Code == http.StatusOK && json.Valid(a.Body.Bytes())
			}) {
				t.Errorf("%s: no answer came", path)
			}
		}
	})
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestLongAnswersCount: a caller that reads megabytes has to wait longer for the next answer than one that reads a few
// lines.
func TestLongAnswersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-bytes=0", "session-reads=10/100"))
		project := w.project()
		id, token := w.session(adminToken, project, w.task(project), "")
		for range 40 {
			w.do(token, "report:progress", `{"message":"`+strings.Repeat("x", 60<<10)+`"}`).is(200)
		}
		for range 50 {
			w.send(http.MethodGet, "/api/whoami", token, "").is(200)
		}
		w.send(http.MethodGet, "/api/sessions/"+id, token, "").is(200) // 2.4 MB, which counts as 150
		w.send(http.MethodGet, "/api/whoami", token, "").limited("session-reads")
	})
}

// TestBudgetOfTheServer bounds the unread answers of all callers together.
func TestBudgetOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, func(c *setup) { limits(t, "server-answers=400000")(c) })
		h := &held{read: make(chan struct{})}
		var all sync.WaitGroup
		codes := map[int]int{}
		var answers []*unread
		for range 10 {
			project := w.project()
			_, token := w.session(adminToken, project, w.task(project), "")
			a := &unread{ResponseRecorder: httptest.NewRecorder(), held: h}
			answers = append(answers, a)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/whoami", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			all.Go(func() { w.api.ServeHTTP(a, r) })
		}
		synctest.Wait()
		close(h.read)
		all.Wait()
		for _, a := range answers {
			codes[a.Code]++
		}
		if codes[200] != 3 || codes[429] != 7 { // a quarter is for admins, and each leaves as much as it takes
			t.Errorf("the answers are %v: there is room for three", codes)
		}
	})
}

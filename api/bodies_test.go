package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBodiesLeaveRoomForOtherProjects: sessions of two projects hold as many bytes of requests as they can. A session
// of a third project is still served, even if the sessions that hold them have ended.
func TestBodiesLeaveRoomForOtherProjects(t *testing.T) {
	const path = "/api/commands/report:progress"
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, "server-bodies=400000")) // of which 300,000 are not the admins'
			var all sync.WaitGroup
			var held []*io.PipeWriter
			hold := func(token string, size int) {
				body, more := io.Pipe()
				held = append(held, more)
				all.Go(func() {
					defer func() { _ = body.Close() }()
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, body)
					r.ContentLength = 1 << 20
					r.Header.Set("Authorization", "Bearer "+token)
					r.Header.Set("Content-Type", "application/json")
					w.api.ServeHTTP(httptest.NewRecorder(), r)
				})
				all.Go(func() { _, _ = io.WriteString(more, `{"message":"`+strings.Repeat("x", size)) })
				synctest.Wait()
			}
			for _, sizes := range [][]int{{100_000, 100_000, 60_000}, {100_000, 60_000}} {
				project := w.project()
				task := w.task(project)
				for _, size := range sizes {
					id, hostile := w.session(adminToken, project, task, "")
					if ended {
						w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
					}
					hold(hostile, size)
				}
			}
			project := w.project()
			_, honest := w.session(adminToken, project, w.task(project), "")
			w.do(honest, "report:progress", `{"message":"`+strings.Repeat("x", 50_000)+`"}`).is(200)
			for _, more := range held {
				_ = more.Close()
			}
			all.Wait()
		})
	}
}

// TestLongBodiesKeepPace: a body that counts against the budgets must keep arriving. A slow but steady one is accepted,
// and so is a short one that is slow.
func TestLongBodiesKeepPace(t *testing.T) {
	const long, short = 1_000_000, 2000
	for _, c := range []struct {
		name   string
		length int
		// first arrives at once, then part after each pause, parts times.
		first, part, parts int
		pause, most        time.Duration
		status             int
	}{
		{"long and steady", long, 100_000, 90_000, 10, time.Second, 11 * time.Second, 200},
		{"long with a pause", long, 500_000, 500_000, 1, 4 * time.Second, 5 * time.Second, 200},
		{"long and stopped", long, 500_000, 0, 0, 0, 6 * time.Second, 400},
		{"long and trickling", long, 500_000, 10_000, 50, time.Second, 10 * time.Second, 400},
		{"short and slow", short, 1000, 1000, 1, 25 * time.Second, 26 * time.Second, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, limits(t))
				project := w.project()
				_, token := w.session(adminToken, project, w.task(project), "")
				text := `{"message":"` + strings.Repeat("x", c.length-14) + `"}`
				conn := serve(t, w.api, limitsOf(t))()
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() {
					request(t, conn, token, "POST /api/commands/report:progress", c.length, text[:c.first])
					rest := text[c.first:]
					for range c.parts {
						time.Sleep(c.pause)
						if _, err := io.WriteString(conn, rest[:c.part]); err != nil {
							return
						}
						rest = rest[c.part:]
					}
				})
				status := answered(conn)
				if took := time.Since(began); status != c.status || took > c.most {
					t.Errorf("%d after %s", status, took)
				}
				_ = conn.Close()
				sending.Wait()
			})
		})
	}
}

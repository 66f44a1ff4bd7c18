package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/bus"
	"maestro/internal/server/metrics"
	"maestro/service"
	"maestro/service/wire"
)

// openMetered makes a server with figures. The writer's own are not measured.
func openMetered(t *testing.T) *world { return open(t, measured(t, func(*metrics.Sources) {})) }

// measured makes the figures of a server, from sources that look may change.
func measured(t *testing.T, look func(*metrics.Sources)) func(*setup) {
	m := metrics.New("test", slog.New(slog.DiscardHandler))
	t.Cleanup(m.Close)
	return func(c *setup) {
		c.Meter, c.Metrics = m, m
		c.serving = func(served *service.Service) {
			sources := metrics.Sources{
				Handler: c.Handler,
				Denials: c.Denials,
				Service: served,
				Sizes: func(context.Context) (bus.Sizes, error) {
					return bus.Sizes{Events: 7, Head: 7, Log: 700}, nil
				},
				Free:       func() (uint64, bool, uint64, bool) { return 1 << 40, true, 1000, true },
				Health:     served.Health,
				Warnings:   func() []wire.Warning { return []wire.Warning{{Code: "BACKUP"}} },
				Now:        time.Now,
				Durability: "always",
			}
			look(&sources)
			m.Watch(sources)
		}
	}
}

// figures returns the lines of /metrics, without those of the process and of Go.
func (w *world) figures() (lines []string) {
	w.Helper()
	r := w.send(http.MethodGet, "/metrics", adminToken, "").is(200)
	if got := r.header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		w.Errorf("the type of /metrics is %q", got)
	}
	for line := range strings.Lines(string(r.body)) {
		if strings.HasPrefix(line, "maestro_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestMetrics(t *testing.T) {
	w := openMetered(t)
	w.send(http.MethodGet, "/metrics", "", "").refused(401, "UNAUTHENTICATED", "")
	w.exchange("wrong", "/").is(401)
	project := w.project()
	task := w.task(project)
	id, token := w.session(adminToken, project, task, ``)
	w.send(http.MethodGet, "/metrics", token, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodGet, "/metrics", w.token("eye", "auditor"), "").is(200)
	w.do(token, "task:complete", `{"taskId":"`+task+`"}`).refused(403, "NOT_ALLOWED", "")
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
	w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
	figures := w.figures()
	for _, want := range []string{
		`maestro_unauthenticated_requests_total 2`,
		`maestro_refusals_total{code="NOT_ALLOWED",rule="audit:denials"} 1`,
		`maestro_refusals_total{code="NOT_ALLOWED",rule="task:complete"} 1`,
		`maestro_sessions{status="spawning"} 1`,
		`maestro_sessions{status="lost"} 0`,
		`maestro_queues 1`,
		`maestro_queue_items{status="queued"} 1`,
		`maestro_log_events 7`,
		`maestro_log_bytes 700`,
		`maestro_disk_free_files 1000`,
		`maestro_ready 1`,
		`maestro_warnings{code="BACKUP"} 1`,
		`maestro_durability_info{mode="always"} 1`,
		`maestro_streams{kind="live"} 0`,
		`maestro_streams_dropped_total{kind="live"} 0`,
		`maestro_commands_waiting 0`,
		`maestro_limit_refusals_total{limit="session-commands"} 0`,
		`maestro_projection_lag_events{projection="live"} 0`,
		`maestro_http_requests_total{method="GET",route="/metrics",status="403"} 1`,
		`maestro_http_requests_total{method="POST",route="/api/commands/queue:push",status="200"} 1`,
		`maestro_collect_failures_total 0`,
	} {
		if !slices.Contains(figures, want) {
			t.Errorf("/metrics lacks %s:\n%s", want, strings.Join(figures, "\n"))
		}
	}
	for _, m := range metrics.Table() {
		sent := strings.HasPrefix(m.Name, "maestro_webhook") // this server sends nothing; see webhook.txtar
		if !sent && !slices.ContainsFunc(figures, func(line string) bool { return strings.HasPrefix(line, m.Name) }) {
			t.Errorf("/metrics lacks %s", m.Name)
		}
	}
	for _, name := range []string{project, task, id, "eye"} {
		if strings.Contains(strings.Join(figures, "\n"), name) {
			t.Errorf("/metrics shows %s, which is chosen or made for one object", name)
		}
	}
}

// A disk that hangs holds no scrape for longer than a few seconds, and leaves out only what is on it, however many
// scrapes come. Once it answers, everything is shown again.
func TestMetricsOfHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := make(chan struct{})
		var looks atomic.Int64
		w := openInside(t, measured(t, func(sources *metrics.Sources) {
			sources.Free = func() (uint64, bool, uint64, bool) { looks.Add(1); <-mended; return 1, true, 1, true }
			sources.Warnings = func() []wire.Warning { <-mended; return nil }
			sources.Sizes = func(context.Context) (bus.Sizes, error) {
				<-mended
				return bus.Sizes{Events: 7, Head: 7, Log: 700}, nil
			}
		}))
		for range 3 {
			began := time.Now()
			figures := strings.Join(w.figures(), "\n")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("a scrape took %s", took)
			}
			if strings.Contains(figures, "maestro_disk_free_bytes") || strings.Contains(figures, "maestro_log_bytes") {
				t.Errorf("it shows what nobody saw:\n%s", figures)
			}
			if !strings.Contains(figures, `maestro_sessions{status="lost"} 0`) {
				t.Errorf("it does not show what needs no disk:\n%s", figures)
			}
		}
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks hang", n)
		}
		close(mended)
		synctest.Wait()
		figures := strings.Join(w.figures(), "\n")
		for _, want := range []string{"maestro_disk_free_bytes 1", "maestro_log_bytes 700", "maestro_ready 1"} {
			if !strings.Contains(figures, want) {
				t.Errorf("/metrics lacks %s:\n%s", want, figures)
			}
		}
	})
}

// Whatever a client sends, it makes no figures of its own: after one such client, others add none.
func TestClientsMakeNoLabels(t *testing.T) {
	w := openMetered(t)
	project := w.project()
	_, token := w.session(adminToken, project, w.task(project), ``)
	attack := func(word string) {
		for _, path := range []string{
			"/" + word, "/api/" + word, "/api/tasks/" + word, "/api/commands/" + word, "/metrics/" + word,
			"/api/projects/" + word + "/status", "/api/tasks?q=" + word, "/api/manifests?" + word + "=1",
		} {
			own := "M" + strings.ToUpper(word)
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, own} {
				for _, credential := range []string{adminToken, token, word} {
					w.send(method, path, credential, `{"`+word+`":1}`)
				}
			}
		}
		w.do(token, "task:complete", `{"taskId":"`+word+`"}`)
		w.do(token, word, `{}`)
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"`+word+`"}`)
	}
	attack("first")
	w.figures()
	values := regexp.MustCompile(` \S+$`)
	names := func() (all []string) {
		for _, line := range w.figures() {
			all = append(all, values.ReplaceAllString(line, ""))
		}
		return all
	}
	before := names()
	for i := range 3 {
		attack(fmt.Sprintf("word%d", i))
	}
	after := names()
	if !slices.Equal(before, after) {
		for _, name := range after {
			if !slices.Contains(before, name) {
				t.Errorf("a client made %s", name)
			}
		}
	}
	for _, name := range after {
		if strings.Contains(name, "word") || strings.Contains(name, "first") || strings.Contains(name, "WORD") {
			t.Errorf("a client chose a label: %s", name)
		}
	}
}

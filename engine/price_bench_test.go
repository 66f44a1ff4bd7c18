package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"maestro/commands"
	"maestro/events"
)

// BenchmarkStepPrice measures how many steps of a report that moves many items cost the writer as much as a plain
// report. service.StepsPerCommand may not be larger than that.
func BenchmarkStepPrice(b *testing.B) {
	const items, dependencies, dependents = 10_000, 200, 1000
	w := newWorld(b)
	plain := benchReport(w)
	quoted := func(ids []string) string {
		text, err := json.Marshal(ids)
		if err != nil {
			b.Fatal(err)
		}
		return string(text)
	}
	task := func(needs []string) string {
		body := fmt.Sprintf(
			`{"project":%q,"parentId":%q,"title":"T","dependencies":%s}`, w.ids["p"], w.ids["t1"], quoted(needs),
		)
		_, id := w.must("admin", "task:create", body).Data.Aggregate()
		return id
	}
	w.must("admin", "queue:create", `{"project":"{p}","queue":"trusting","trustReports":true}`)
	var all, last []string // each of the tasks that items wait for
	for range items / dependents {
		hubs := make([]string, dependencies)
		for i := range hubs {
			hubs[i] = task(nil)
		}
		all, last = append(all, hubs...), append(last, hubs[dependencies-1])
		for range dependents {
			push := fmt.Sprintf(`{"project":%q,"queue":"trusting","taskId":%q}`, w.ids["p"], task(hubs))
			w.must("admin", "queue:push", push)
		}
	}
	worked := 0
	report := func(kind events.ReportKind, tasks []string, key string) {
		_, err := w.h.Do(context.Background(), Request{
			By:      w.actor("w"),
			Command: &commands.Report{Kind: kind, Message: benchMessage, TaskIDs: tasks},
			Key:     key,
			Worked:  func(steps int) { worked += steps },
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; i < len(all); i += 1000 {
		report(events.ReportComplete, all[i:i+1000], fmt.Sprint("all ", i))
	}
	worked = 0
	var cheap, dear time.Duration
	plains, n := 0, 0
	for b.Loop() {
		begun := time.Now()
		for range 100 {
			if err := plain(fmt.Sprint("plain ", plains)); err != nil {
				b.Fatal(err)
			}
			plains++
		}
		cheap += time.Since(begun)
		begun = time.Now()
		report([]events.ReportKind{events.ReportProgress, events.ReportComplete}[n%2], last, fmt.Sprint("dear ", n))
		dear += time.Since(begun)
		n++
	}
	perPlain := cheap.Seconds() / float64(plains)
	perStep := dear.Seconds() / float64(worked)
	b.ReportMetric(perPlain/perStep, "steps/command")
	b.ReportMetric(float64(worked)/float64(n), "steps/report")
	b.ReportMetric(perPlain*1e6, "µs/plain")
	b.ReportMetric(dear.Seconds()/float64(n)*1e6, "µs/report")
}

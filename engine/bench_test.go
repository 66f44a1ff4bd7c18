package engine

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/testing/race"
	"maestro/projections"
)

const benchMessage = "Implementing authentication endpoints"

// benchReport lets a worker of a world report on its task as often as asked.
func benchReport(w *world) func(key string) error {
	actor, task := w.actor("w"), w.ids["t1"]
	return func(key string) error {
		report := &commands.Report{Kind: events.ReportProgress, Message: benchMessage, TaskIDs: []string{task}}
		_, err := w.h.Do(context.Background(), Request{By: actor, Command: report, Key: key})
		return err
	}
}

// A command takes few allocations, because its buffers are reused.
func TestCommandAllocations(t *testing.T) {
	race.Without(t)
	const most = 25 // some are made by the test itself
	w := newWorld(t)
	report, next := benchReport(w), 0
	took := testing.AllocsPerRun(500, func() {
		next++
		if err := report(strconv.Itoa(next)); err != nil {
			t.Fatal(err)
		}
	})
	if took > most {
		t.Errorf("a report takes %v allocations, want at most %d", took, most)
	}
}

// BenchmarkHandler measures the writer with a log that costs nothing, by how many call at once.
func BenchmarkHandler(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			w := newWorld(b)
			report := benchReport(w)
			var next atomic.Int64
			before := len(w.log.appended())
			done := make(chan error, callers)
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				go func() {
					var err error
					for i := next.Add(1); i <= int64(b.N) && err == nil; i = next.Add(1) {
						err = report(fmt.Sprint(i))
					}
					done <- err
				}()
			}
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/float64(len(w.log.appended())-before), "commands/append")
		})
	}
}

// reportsLog returns a log of about n reports of eight sessions on their tasks.
func reportsLog(b *testing.B, n int) *fakeLog {
	b.Helper()
	w := newWorld(b)
	done := make(chan error, 8)
	for i := range 8 {
		task, session := fmt.Sprint("task", i), fmt.Sprint("session", i)
		w.make(task, "admin", "task:create", `{"project":"{p}","title":"T"}`)
		w.make(session, "admin", "session:spawn", `{"project":"{p}","taskIds":["{`+task+`}"]}`)
		actor, id := w.actor(session), w.ids[task]
		go func() {
			var err error
			for k := 0; k < n/8 && err == nil; k++ {
				report := &commands.Report{Kind: events.ReportProgress, Message: benchMessage, TaskIDs: []string{id}}
				_, err = w.h.Do(context.Background(), Request{By: actor, Command: report, Key: fmt.Sprint(i, ".", k)})
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	return w.log
}

// BenchmarkFold measures what a start without a snapshot costs.
func BenchmarkFold(b *testing.B) {
	log := reportsLog(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := fold(context.Background(), log, projections.New(), log.head()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(log.head()), "ns/event")
}

// BenchmarkVerify measures an audit.
func BenchmarkVerify(b *testing.B) {
	log := reportsLog(b, 20_000)
	for b.Loop() {
		if verdict := verify(b, log.messages); len(verdict.Faults) != 0 {
			b.Fatal(verdict.Faults)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(log.head()), "ns/event")
}

package commands

import (
	"context"
	"fmt"
	"testing"
	"time"

	"maestro/events"
	"maestro/projections"
)

// reportsLog gives a log of n reports of eight sessions on their tasks.
func reportsLog(b *testing.B, n int) *memoryLog {
	b.Helper()
	log := &memoryLog{}
	h, err := Open(context.Background(), Config{Log: log, Now: time.Now, After: time.After})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	admin := Admin(AuthnToken)
	project := do(b, h, admin, "project:create", `{"name":"Alpha"}`).Data.(*events.ProjectCreated).ProjectID
	done := make(chan error, 8)
	for w := range 8 {
		task := do(b, h, admin, "task:create", `{"project":"`+project+`","title":"T"}`).Data.(*events.TaskCreated).TaskID
		session := do(b, h, admin, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`).Data.(*events.SessionSpawned).SessionID
		go func() {
			by := SessionActor(project, session, AuthnToken)
			var err error
			for i := 0; i < n/8 && err == nil; i++ {
				report := &Report{Kind: events.ReportProgress, Message: "Implementing authentication endpoints", TaskIDs: []string{task}}
				_, err = h.Do(context.Background(), Request{By: by, Command: report, Key: fmt.Sprint(w, ".", i)})
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	return log
}

func BenchmarkFold(b *testing.B) {
	log := reportsLog(b, 100_000)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if err := fold(context.Background(), log, projections.New(), uint64(len(log.messages))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(log.messages)), "ns/event")
}

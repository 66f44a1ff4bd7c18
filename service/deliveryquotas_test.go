//go:build unix

package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/disk"
	"maestro/projections"
	"maestro/workers/outbox"
)

// Kept questions are checked against the quotas of open questions: those over the limit wait, and the log says why
// once.
func TestKeptQuestionsAreBounded(t *testing.T) {
	for _, limit := range []string{"session-questions", "project-questions"} {
		t.Run(limit, func(t *testing.T) {
			h := homeAt(t, t.TempDir())
			synctest.Test(t, func(t *testing.T) { deliverQuestions(t, h, limit) })
		})
	}
}

func deliverQuestions(t *testing.T, h *disk.Root, limit string) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"p"}`)
	w.do(w.admin(), "session:register", `{"project":"`+project+`","sessionId":"s"}`)
	var log bytes.Buffer
	w.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d := w.Deliver(h)
	box := outboxOf(t, h, w, "s")
	accounts := []*account{w.ledger.hold(ClassSession, "session s"), w.ledger.hold(classProject, project)}
	ask := func(key string) {
		t.Helper()
		_, err := box.Keep(t.Context(), outbox.Entry{
			Command:    "report:needs-input",
			Body:       json.RawMessage(`{"message":"what?"}`),
			Key:        key,
			OccurredAt: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		ask(fmt.Sprint("question ", i))
	}
	was := 0
	for _, step := range []struct{ limit, open int }{{2, 2}, {2, 2}, {3, 3}, {0, 4}} {
		w.Limits = Limits{}
		if err := w.Limits.Set(fmt.Sprintf("%s=%d", limit, step.limit)); err != nil {
			t.Fatal(err)
		}
		paid := make([]float64, len(accounts))
		for i, account := range accounts {
			paid[i] = w.ledger.left(account, useCommands)
		}
		d.all(t.Context())
		open := 0
		w.Handler.View(func(s *projections.State) {
			for range s.OpenQuestions(project) {
				open++
			}
		})
		waiting, err := box.Waiting()
		if err != nil || open != step.open || waiting != 4-step.open {
			t.Errorf("with the limit %d: %d open, %d waiting, %v", step.limit, open, waiting, err)
		}
		for i, account := range accounts {
			if paid := paid[i] - w.ledger.left(account, useCommands); paid < float64(step.open-was) {
				t.Errorf("%.0f commands are charged for %d questions", paid, step.open-was)
			}
		}
		was = step.open
		if step.limit == 2 && strings.Count(log.String(), "the limit "+limit+" is 2") != 1 {
			t.Errorf("the log:\n%s", &log)
		}
	}
	if err := w.Limits.Set(limit + "=1"); err != nil {
		t.Fatal(err)
	}
	ask("question 0") // a retry
	d.all(t.Context())
	if waiting, err := box.Waiting(); err != nil || waiting != 0 {
		t.Errorf("a retry waits: %d, %v", waiting, err)
	}
}

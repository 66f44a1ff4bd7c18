//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
	"maestro/internal/testing/simlog"
	"maestro/projections"
	"maestro/service"
	"maestro/workers/outbox"
)

// Kept questions are held against the quotas of open questions: those over the limit wait, and the log says why once.
func TestKeptQuestionsAreBounded(t *testing.T) {
	for _, limit := range []string{"session-questions", "project-questions"} {
		t.Run(limit, func(t *testing.T) {
			h, err := home.Create(filepath.Join(t.TempDir(), "home"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Close() })
			synctest.Test(t, func(t *testing.T) { deliverQuestions(t, h, limit) })
		})
	}
}

func deliverQuestions(t *testing.T, h *home.Home, limit string) {
	config := engine.Config{Log: simlog.New().Open(), Now: time.Now, After: time.After}
	handler, err := engine.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	do := func(command commands.Command) events.Data {
		t.Helper()
		request := engine.Request{By: commands.Admin(commands.AuthnToken), Command: command, Key: command.ID()}
		answer, err := handler.Do(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Data
	}
	project := do(&commands.CreateProject{Name: "p"}).(*events.ProjectCreated).ProjectID
	do(&commands.RegisterSession{In: commands.In{Project: project}, SessionID: "s"})

	var log bytes.Buffer
	d := &delivery{
		home:    h,
		handler: handler,
		key:     []byte("key"),
		logger:  slog.New(slog.NewTextHandler(&log, nil)),
	}
	var charged atomic.Int64
	d.charge = func(by commands.Actor) func(int) {
		if by.Name != "s" || by.Project != project {
			t.Errorf("%+v is charged", by)
		}
		return func(steps int) { charged.Add(int64(steps)) }
	}
	box, err := outbox.Open(h.Root(), "s", func() string {
		secret, _ := d.secretOf("s")
		return secret
	})
	if err != nil {
		t.Fatal(err)
	}
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
	for _, step := range []struct{ limit, open int }{{2, 2}, {2, 2}, {3, 3}, {0, 4}} {
		d.limits = service.Limits{}
		if err := d.limits.Set(fmt.Sprintf("%s=%d", limit, step.limit)); err != nil {
			t.Fatal(err)
		}
		d.all(t.Context())
		open := 0
		handler.View(func(s *projections.State) {
			for range s.Unanswered(project) {
				open++
			}
		})
		waiting, err := box.Waiting()
		if err != nil || open != step.open || waiting != 4-step.open {
			t.Errorf("with the limit %d: %d open, %d waiting, %v", step.limit, open, waiting, err)
		}
		if charged := charged.Load(); charged < int64(4*step.open) { // each is decided and folded
			t.Errorf("%d steps are charged for %d questions", charged, step.open)
		}
		if step.limit == 2 && strings.Count(log.String(), "the limit "+limit+" is 2") != 1 {
			t.Errorf("the log:\n%s", &log)
		}
	}
	if err := d.limits.Set(limit + "=1"); err != nil {
		t.Fatal(err)
	}
	ask("question 0") // a retry
	d.all(t.Context())
	if waiting, err := box.Waiting(); err != nil || waiting != 0 {
		t.Errorf("a retry waits: %d, %v", waiting, err)
	}
}

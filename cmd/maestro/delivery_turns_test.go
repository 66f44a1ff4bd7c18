//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
	"maestro/internal/testing/simlog"
	"maestro/workers/outbox"
)

// Sessions whose outboxes are full take turns with the others: by entries, and by what their commands cost.
func TestOutboxesTakeTurns(t *testing.T) {
	for name, full := range map[string]struct {
		tasks, entries int
		// first is how many of them one turn delivers at most.
		first int
	}{
		"many reports":  {1, 3 * turnEntries, turnEntries},
		"heavy reports": {1000, 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := home.Create(filepath.Join(t.TempDir(), "home"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Close() })
			synctest.Test(t, func(t *testing.T) { takeTurns(t, h, full.tasks, full.entries, full.first) })
		})
	}
}

func takeTurns(t *testing.T, h *home.Home, tasks, entries, first int) {
	config := engine.Config{Log: simlog.New().Open(), Now: time.Now, After: time.After}
	handler, err := engine.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	did := 0
	do := func(command commands.Command) events.Data {
		t.Helper()
		did++
		request := engine.Request{By: commands.Admin(commands.AuthnToken), Command: command, Key: fmt.Sprint(did)}
		answer, err := handler.Do(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Data
	}
	in := commands.In{Project: do(&commands.CreateProject{Name: "p"}).(*events.ProjectCreated).ProjectID}
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = do(&commands.CreateTask{In: in, Title: "T"}).(*events.TaskCreated).TaskID
	}
	d := &delivery{
		home:    h,
		handler: handler,
		key:     []byte("key"),
		logger:  slog.New(slog.DiscardHandler),
	}
	keep := func(session string, n int) *outbox.Outbox {
		t.Helper()
		do(&commands.RegisterSession{In: in, SessionID: session, TaskIDs: ids})
		box, err := outbox.Open(h.Root(), session, func() string {
			secret, _ := d.secretOf(session)
			return secret
		})
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{"message": "m", "taskIds": ids})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			_, err := box.Keep(t.Context(), outbox.Entry{
				Command:    "report:progress",
				Body:       body,
				Key:        fmt.Sprint("kept ", i),
				OccurredAt: time.Now(),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return box
	}
	waiting := func(box *outbox.Outbox) int {
		t.Helper()
		n, err := box.Waiting()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	full, honest := keep("a", entries), keep("b", 1)
	more := d.all(t.Context())
	if n := entries - waiting(full); !more || n == 0 || n > first {
		t.Errorf("a turn delivers %d entries, at most %d may be; more: %t", n, first, more)
	}
	if n := waiting(honest); n != 0 {
		t.Errorf("%d entries of the other session wait", n)
	}
	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.run(ctx)
	}()
	for waiting(full) > 0 {
		time.Sleep(turnEvery) // of the bubble's clock
	}
	stop()
	<-ended
	least := time.Duration(entries/first-2) * turnEvery
	if took := time.Since(began); took < least {
		t.Errorf("the rest came within %s, and its turns take %s", took, least)
	}
	if d.all(t.Context()) {
		t.Error("there is more")
	}
}

//go:build unix

package service

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/disk"
	"maestro/workers/outbox"
)

// Sessions with full outboxes take turns with the others, by entries and by the cost of their commands.
func TestOutboxesTakeTurns(t *testing.T) {
	for name, full := range map[string]struct {
		tasks, entries int
		// first is the most that one turn delivers.
		first int
	}{
		"many reports":  {1, 3 * turnEntries, turnEntries},
		"heavy reports": {1000, 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := homeAt(t, t.TempDir())
			synctest.Test(t, func(t *testing.T) { takeTurns(t, h, full.tasks, full.entries, full.first) })
		})
	}
}

func takeTurns(t *testing.T, h *disk.Root, tasks, entries, first int) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"p"}`)
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	}
	d := w.Deliver(h)
	keep := func(session string, n int) *outbox.Outbox {
		t.Helper()
		given, err := json.Marshal(map[string]any{"project": project, "sessionId": session, "taskIds": ids})
		if err != nil {
			t.Fatal(err)
		}
		w.do(w.admin(), "session:register", string(given))
		box := outboxOf(t, h, w, session)
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
		t.Errorf("a turn delivers %d entries, allowed are %d; more: %t", n, first, more)
	}
	if n := waiting(honest); n != 0 {
		t.Errorf("%d entries of the other session wait", n)
	}
	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	for waiting(full) > 0 {
		time.Sleep(turnEvery) // of the bubble's clock
	}
	stop()
	<-ended
	least := time.Duration(entries/first-2) * turnEvery
	if took := time.Since(began); took < least {
		t.Errorf("the rest was delivered within %s, but its turns take %s", took, least)
	}
	if d.all(t.Context()) {
		t.Error("entries are left")
	}
}

// outboxOf opens a session's outbox with the secret that the session has.
func outboxOf(t *testing.T, h *disk.Root, w *world, session string) *outbox.Outbox {
	t.Helper()
	box, err := outbox.Open(h, session, (&turn{service: w.Service, session: session}).secretNow)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

package engine

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
)

// counting is a Meter that keeps what it is told.
type counting struct {
	mu      sync.Mutex
	batches []int
	took    []time.Duration
	waits   []time.Duration
	retries int
}

func (c *counting) Appended(events int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches, c.took = append(c.batches, events), append(c.took, took)
}

func (c *counting) Waited(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, wait)
}

func (c *counting) Retried() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retries++
}

// The Meter is told of each batch, of the wait of each command once, also if it is decided again, and of each retry.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.h.Close()
		m := &counting{}
		w.h = open(t, Config{Log: w.log, Meter: m})
		defer func() { w.h.Close() }()
		const took = 3 * time.Millisecond
		failed := false
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			time.Sleep(took) // of synctest's clock
			if !failed {
				failed = true
				return errors.New("a failed append is not one")
			}
			return store()
		})
		if _, err := w.note("first"); err != nil {
			t.Fatal(err)
		}
		_, errs := w.together(3, func(i int) (Answer, error) {
			if i == 0 {
				return w.note("second")
			}
			return w.withKey("w", "session:note", `{"message":"m"}`, "k")
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.withKey("w", "session:note", `{"message":"m"}`, "k"); err != nil {
			t.Fatal(err)
		}
		w.h.Close() // nothing tells the meter anything any more
		sum := 0
		for _, n := range m.batches {
			sum += n
		}
		if sum != 3 || m.took[0] != took || slices.Min(m.took) < 0 {
			t.Errorf("batches of %v events took %v, want 3 events, the first batch %s", m.batches, m.took, took)
		}
		if len(m.waits) != 5 || slices.Min(m.waits) < 0 || slices.Max(m.waits) > took {
			t.Errorf("the waits are %v, want those of 5 commands, at most %s", m.waits, took)
		}
		if m.retries != 2 {
			t.Errorf("%d retries, want 2", m.retries)
		}
		if load := w.h.Load(); load != (Load{}) {
			t.Errorf("a closed Handler has the load %+v", load)
		}
	})
}

// Refusals are counted by the rows and codes that the code lists, whatever the caller asked for.
func TestKindsOfRefusals(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		want          string
	}{
		{"task:complete", "report:progress", "task:complete"},
		{"", "report:progress", "report:progress"},
		{"", "PATCH /api/tasks/task_x", ""},
		{"made up", "made:up", ""},
	} {
		kind := kindOfRefusal(&Denial{Rule: c.rule, Command: c.command, Code: commands.CodeNotAllowed})
		if kind != (RefusalKind{c.want, commands.CodeNotAllowed}) {
			t.Errorf("%q, %q: %+v", c.rule, c.command, kind)
		}
	}
}

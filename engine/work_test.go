package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"maestro/commands"
)

// Request.Worked gets the work of the decision, of the fold of its event, and of a refusal, even if the caller left
// before the answer.
func TestWorkIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // if it is never called, this is a deadlock
		const waiting = 50
		w := newWorld(t)
		defer w.h.Close()
		w.must("admin", "queue:create", `{"project":"{p}","queue":"q"}`)
		w.make("hub", "admin", "task:create", `{"project":"{p}","title":"hub"}`)
		for i := range waiting {
			name := fmt.Sprint("waits", i)
			w.make(name, "admin", "task:create", `{"project":"{p}","title":"T","dependencies":["{hub}"]}`)
			w.must("admin", "queue:push", `{"project":"{p}","queue":"q","taskId":"{`+name+`}"}`)
		}
		request := func(by, id, body string, told chan<- int) Request {
			command, err := commands.Parse(id, []byte(w.fillIn(body)))
			if err != nil {
				t.Fatal(err)
			}
			return Request{
				By:      w.actor(by),
				Command: command,
				Key:     id,
				Worked:  func(steps int) { told <- steps },
			}
		}
		told := make(chan int, 2)
		const complete = `{"taskId":"{hub}"}`
		if _, err := w.h.Try(request("admin", "task:complete", complete, told)); err != nil {
			t.Fatal(err)
		}
		if steps := <-told; steps == 0 || steps > waiting {
			t.Errorf("a dry run, which folds nothing, took %d steps", steps)
		}
		ctx, leave := context.WithCancel(t.Context())
		g := w.log.hold()
		left := make(chan error, 1)
		go func() { _, err := w.h.Do(ctx, request("admin", "task:complete", complete, told)); left <- err }()
		<-g.reached
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		close(g.open)
		if steps := <-told; steps < 2*waiting {
			t.Errorf("completing a task that %d items wait for took %d steps", waiting, steps)
		}
		var refusal *commands.Refusal
		if _, err := w.h.Do(t.Context(), request("admin", "task:reopen", `{"taskId":"{t1}"}`, told)); !errors.As(err,
			&refusal) {
			t.Fatal(err)
		}
		if steps := <-told; steps == 0 {
			t.Error("a refusal took no steps")
		}
	})
}

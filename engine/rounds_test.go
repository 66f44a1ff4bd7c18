package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/commands"
	"maestro/events"
)

// Waiting commands are divided into rounds with one command per share; shares that cost less recently come first.
func TestEachShareHasOneCommandInARound(t *testing.T) {
	waiting := func(order string) (all []*pending) {
		for i, share := range strings.Fields(order) {
			all = append(all, &pending{Request: Request{Share: share, Key: fmt.Sprint(i)}})
		}
		return all
	}
	said := func(all []*pending) string {
		var b strings.Builder
		for _, p := range all {
			b.WriteString(p.Share + p.Key + " ")
		}
		return strings.TrimSpace(b.String())
	}
	var r rounds
	for _, c := range []struct{ waits, want string }{
		{"a", "a0"},
		{"a a a b", "a0 b3 a1 a2"},
		{"a a b a c b", "a0 b2 c4 a1 b5 a3"},
	} {
		all := waiting(c.waits)
		if r.order(all); said(all) != c.want {
			t.Errorf("%s: %s, want %s", c.waits, said(all), c.want)
		}
	}
	r.work("a", 1000)
	r.work("b", 10)
	all := waiting("a a b c")
	if r.order(all); said(all) != "c3 b2 a0 a1" {
		t.Errorf("after expensive work of a: %s", said(all))
	}
	for range 10 {
		r.fade()
	}
	all = waiting("a b c")
	if r.order(all); said(all) != "a0 b1 c2" || len(r.spent) > 0 {
		t.Errorf("much later: %s, %v", said(all), r.spent)
	}
}

// However many expensive commands of one share wait, another share's next command waits for only a few of them.
func TestExpensiveCommandsWaitTheirTurn(t *testing.T) {
	const tasks, herd = 300, 200
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		ids := make([]string, tasks)
		for i := range ids {
			answer := w.must("admin", "task:create", fmt.Sprintf(`{"project":"{p}","title":"T%d"}`, i))
			ids[i] = `"` + answer.Data.(*events.TaskCreated).TaskID + `"`
		}
		all := strings.Join(ids, ",")
		w.make("many", "admin", "session:spawn", `{"project":"{p}","taskIds":[`+all+`]}`)
		dear := `{"message":"m","taskIds":[` + all + `]}`
		send := func(share, key, body string) {
			command, err := commands.Parse("report:progress", []byte(body))
			if err != nil {
				t.Error(err)
				return
			}
			request := Request{
				By:      w.actor("many"),
				Command: command,
				Key:     key,
				Share:   share,
			}
			if _, err = w.h.Do(t.Context(), request); err != nil {
				t.Error(err)
			}
		}
		release := make(chan struct{})
		w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
			<-release
			return append()
		})
		go send("first", "first", `{"message":"m"}`) // the writer waits for its append
		synctest.Wait()
		for i := range herd {
			go send("herd", fmt.Sprint("herd ", i), dear)
			synctest.Wait()
		}
		for _, honest := range []string{"honest", "late"} { // the second one arrives during the herd's turn
			before, done := w.log.head()+1, false
			go func() {
				send(honest, honest, `{"message":"m"}`)
				done = true
			}()
			synctest.Wait()
			for batches := 1; !done; batches++ {
				release <- struct{}{}
				synctest.Wait()
				if batches > 3 {
					t.Fatalf("%d batches did not contain the command of %s", batches, honest)
				}
			}
			if dearer := w.log.head() - before; dearer > herd/4 {
				t.Errorf("%d of %d expensive commands came before that of %s", dearer, herd, honest)
			}
		}
		close(release)
		synctest.Wait()
		if w.h.rounds.spent["herd"] == 0 {
			t.Error("the work of the herd does not count")
		}
	})
}

// Ordinary commands fill a batch, however many there are: only expensive ones end it early.
func TestOrdinaryCommandsShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		before := len(w.log.appended())
		const n = 500
		_, errs := w.together(n, func(i int) (Answer, error) {
			return w.withKey("w", "report:progress", `{"message":"Working","taskIds":["{t1}"]}`, fmt.Sprint("r", i))
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if batches := w.log.appended()[before:]; len(batches) != 2 || len(batches[1]) != n-1 {
			t.Errorf("%d reports take %d appends", n, len(batches))
		}
	})
}

package service

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// However many dear answers one account asks for, another's next one waits for none of them, and a third's for one of
// each of the others.
func TestDearWorkIsFair(t *testing.T) {
	const asked = 5
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Handler.Close()
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		run := map[string]func(c *Caller, work func()) error{
			"ordering": func(c *Caller, work func()) error {
				return w.later(t.Context(), c).ordered(0, func() error {
					work()
					return nil
				})
			},
			"rendering": func(c *Caller, work func()) error {
				leave, err := w.rendering.take(t.Context(), c)
				if err == nil {
					work()
					leave()
				}
				return err
			},
		}
		tokens := make([]string, 3)
		for i := range tokens {
			tokens[i] = w.do(w.admin(), "session:spawn",
				fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, task)).Token
		}
		for name, of := range run {
			working, end := make(chan int, 3*asked), make(chan struct{})
			ask := func(who int) {
				c := w.caller(tokens[who])
				a, err := w.Admit(t.Context(), c, Demand{})
				if err != nil {
					t.Error(err)
					return
				}
				defer a.Leave()
				err = of(c, func() {
					working <- who
					<-end
				})
				if err != nil {
					t.Error(err)
				}
			}
			for who := range tokens {
				for range asked {
					go ask(who)
				}
				synctest.Wait()
			}
			for turn := range 3 * asked {
				if turn > 0 {
					end <- struct{}{}
					synctest.Wait()
				}
				if turn == 0 && len(working) != 2 {
					t.Fatalf("%s: %d work at once", name, len(working))
				}
				if len(working) == 0 {
					continue // the last ones end
				}
				if who := <-working; who != turn%3 {
					t.Errorf("%s: turn %d is that of session %d", name, turn, who)
				}
			}
			end <- struct{}{}
			synctest.Wait()
		}
		if len(w.ordering.own)+len(w.rendering.own) != 0 {
			t.Error("places are kept for accounts that want none")
		}
	})
}

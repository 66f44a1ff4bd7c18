package service

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"maestro/commands"
)

// However many expensive answers one account requests, another account's next one waits for none of them, and a third
// account's waits for one of each.
func TestExpensiveWorkIsFair(t *testing.T) {
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
				place, err := w.rendering.take(t.Context(), c)
				if err == nil {
					work()
					place.leave()
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
					t.Fatalf("%s: %d calls work at once", name, len(working))
				}
				if len(working) == 0 {
					continue // the last calls end
				}
				if who := <-working; who != turn%3 {
					t.Errorf("%s: turn %d goes to session %d", name, turn, who)
				}
			}
			end <- struct{}{}
			synctest.Wait()
		}
		if len(w.ordering.shares)+len(w.rendering.shares) != 0 {
			t.Error("shares are kept for accounts that want no place")
		}
	})
}

// taken returns how many of the two places are taken.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return 2 - p.free
}

// However many credentials of one project wait for a place, another project's next call waits for only one of them; a
// project alone gets all places. A caller that stops waiting leaves nothing behind.
func TestPlacesAreFairToProjects(t *testing.T) {
	for _, size := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlaces(size)
			got, end := make(chan string, 100), make(chan struct{})
			var all sync.WaitGroup
			ask := func(ctx context.Context, root string, n int) {
				all.Go(func() {
					place, err := p.take(ctx, callOf(root, n))
					if err != nil {
						return
					}
					got <- root
					<-end
					place.leave()
				})
			}
			for n := range 20 {
				ask(t.Context(), "many", n)
			}
			synctest.Wait()
			if len(got) != size {
				t.Fatalf("alone, a project gets %d of %d places", len(got), size)
			}
			gone, leave := context.WithCancel(t.Context())
			ask(gone, "gone", 0)
			synctest.Wait()
			leave()
			synctest.Wait()
			ask(t.Context(), "few", 0)
			ask(t.Context(), "few", 1)
			synctest.Wait()
			order := []string{}
			for range 22 {
				order = append(order, <-got)
				end <- struct{}{}
				synctest.Wait()
			}
			all.Wait()
			first := slices.Index(order, "few")
			second := first + 1 + slices.Index(order[first+1:], "few")
			if first > size || second > 2*size+1 {
				t.Errorf("with %d places, the other project is served at %d and %d", size, first, second)
			}
			if p.free != size || len(p.shares) != 0 || len(p.waiting) != 0 {
				t.Errorf("left behind: %d free, %d shares, %d waiting", p.free, len(p.shares), len(p.waiting))
			}
		})
	}
}

// A place goes to the project that has the fewest, even if it got the last one; and a call that leaves at the moment
// when it gets a place returns it.
func TestPlaceGoesToProjectWithFewest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no other goroutine runs between two lines of the test
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2)
		take := func(ctx context.Context, root string, n int) (got chan placeTaken) {
			got = make(chan placeTaken, 1)
			go func() {
				place, err := p.take(ctx, callOf(root, n))
				if err != nil {
					close(got)
					return
				}
				got <- place
			}()
			synctest.Wait()
			return got
		}
		first := <-take(t.Context(), "a", 1)
		second := <-take(t.Context(), "b", 1)
		more, other := take(t.Context(), "a", 2), take(t.Context(), "b", 2)
		second.leave()
		synctest.Wait()
		if len(more) > 0 || len(other) == 0 {
			t.Fatal("the place went to the project that already has one")
		}
		ctx, leave := context.WithCancel(t.Context())
		late := take(ctx, "c", 1)
		leave()
		first.leave() // goes to the call that leaves
		synctest.Wait()
		if _, got := <-late; got || len(more) == 0 {
			t.Error("the place of a call that left is lost")
		}
		(<-other).leave()
		(<-more).leave()
		if p.free != 2 || len(p.shares) != 0 {
			t.Errorf("%d places are free, %d shares are left", p.free, len(p.shares))
		}
	})
}

// callOf returns a call of one of a project's credentials.
func callOf(root string, n int) *Caller {
	return &Caller{admission: &Admission{credential: accountNamed(root, n), project: accountNamed(root, -1)}}
}

// accounts of the test, one for each name.
var testAccounts sync.Map

func accountNamed(root string, n int) *account {
	a, _ := testAccounts.LoadOrStore(fmt.Sprint(root, " ", n), &account{class: ClassSession})
	return a.(*account)
}

// A call renders its first parts at once, and every later part in a turn; within a turn it needs no second one.
func TestLongAnswersTakeTurns(t *testing.T) {
	w := newWorld(t)
	c := &Caller{}
	for part := range freeParts {
		if turn, err := w.Turn(t.Context(), c); err != nil || turn != (Turn{}) {
			t.Fatalf("part %d: %v, %v", part, turn, err)
		}
	}
	turn, err := w.Turn(t.Context(), c)
	inner, innerErr := w.Turn(t.Context(), c)
	if err != nil || innerErr != nil || turn == (Turn{}) || inner != (Turn{}) {
		t.Fatalf("%v, %v, then %v, %v", turn, err, inner, innerErr)
	}
	inner.End()
	had := w.turns.free
	turn.End()
	turn.End()
	if w.turns.free != had+1 {
		t.Errorf("%d places are free after the turn, %d during it", w.turns.free, had)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range turnsAtOnce() {
		_, err = w.Turn(t.Context(), &Caller{parts: freeParts})
	}
	if _, gone := w.Turn(gone, c); err != nil || !errors.Is(gone, context.Canceled) {
		t.Errorf("a caller that left: %v", gone)
	}
}

// A dry run waits for its turn, a real command does not.
func TestDryRunsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Handler.Close()
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		var taken []placeTaken
		for range triesAtOnce {
			place, err := w.trying.take(t.Context(), &Caller{})
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, place)
		}
		tried := make(chan error, 1)
		go func() {
			command, err := commands.Parse("task:create", []byte(`{"project":"`+project+`","title":"T"}`))
			if err != nil {
				tried <- err
				return
			}
			c := w.admin()
			c.Meta.Key = "key"
			_, err = w.Do(t.Context(), c, Call{Command: command, Options: Options{DryRun: true}})
			tried <- err
		}()
		synctest.Wait()
		if len(tried) > 0 {
			t.Error("a dry run waits for no turn")
		}
		w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		for _, place := range taken {
			place.leave()
		}
		if err := <-tried; err != nil {
			t.Error(err)
		}
	})
}

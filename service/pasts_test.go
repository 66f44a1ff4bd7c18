package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
)

// moments reads past states, as calls do.
type moments struct{ *stage }

func newMoments(t *testing.T) *moments {
	m := &moments{newStage(t)}
	for i := range 20 {
		m.make(m.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, m.alpha, i))
	}
	return m
}

// read begins to read a moment for so long, and reports whether it may.
func (m *moments) read(by pastReader, sequence uint64, within time.Duration) (release func(), ok bool) {
	m.Helper()
	ctx, cancel := context.WithTimeoutCause(m.Context(), within, errPastsTaken)
	defer cancel()
	past, release, err := m.pasts.take(ctx, by, sequence, func() (*engine.Past, error) {
		past, _, err := m.Handler.Past(m.Context(), sequence)
		return past, err
	})
	if err != nil {
		if !errors.Is(err, errPastsTaken) {
			m.Error(err)
		}
		return func() {}, false
	}
	if past.Sequence() != sequence {
		m.Errorf("the state after event %d instead of %d", past.Sequence(), sequence)
	}
	return release, true
}

// A caller whose answers are not read has few past states at once, and all callers together have few.
func TestPastsInUseAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoments(t)
		admin := readerOf(m.admin().By)
		var held []func()
		for i := range pastsOthers/2 + 1 {
			by := pastReader{fmt.Sprint("reader ", i), 2, pastsOthers}
			for j := range 3 {
				sequence := uint64(1 + 2*i + j%2) //nolint:gosec // a small number
				if j == 2 {
					sequence = 20 + uint64(i) //nolint:gosec // a small number
				}
				release, ok := m.read(by, sequence, time.Second)
				if want := j < 2 && i < pastsOthers/2; ok != want {
					t.Fatalf("reader %d's moment %d: %v", i, j, ok)
				}
				held = append(held, release)
			}
		}
		for i := range 4 {
			release, ok := m.read(admin, 10+uint64(i), time.Second) //nolint:gosec // a small number
			if want := i < pastsMost-pastsOthers; ok != want {
				t.Fatalf("the admin's moment %d: %v", i, ok)
			}
			held = append(held, release)
		}
		if release, ok := m.read(admin, 1, time.Second); !ok { // which somebody reads
			t.Error("a state that others read takes a place")
		} else {
			release()
		}
		if len(m.pasts.states) != pastsMost {
			t.Errorf("%d states", len(m.pasts.states))
		}
		waited := false
		go func() {
			release, ok := m.read(pastReader{"reader 0", 2, pastsOthers}, 25, pastWait)
			release()
			waited = ok
		}()
		synctest.Wait()
		for _, release := range held {
			release()
		}
		synctest.Wait()
		if !waited {
			t.Error("who waits for a place does not get one that becomes free")
		}
		m.pasts.mu.Lock()
		if len(m.pasts.states) != pastsKept || m.pasts.total != 0 || len(m.pasts.used) != 0 {
			t.Errorf("afterwards there are %d states, %d in use by %v", len(m.pasts.states), m.pasts.total,
				m.pasts.used)
		}
		m.pasts.mu.Unlock()
		time.Sleep(pastIdle)
		synctest.Wait()
		m.pasts.mu.Lock()
		defer m.pasts.mu.Unlock()
		if len(m.pasts.states) != 0 {
			t.Errorf("%d states are kept that nobody reads", len(m.pasts.states))
		}
	})
}

// A reader of many moments makes one at a time, so that it delays another by one; what two want is made once.
func TestPastsAreMadeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoments(t)
		var mu sync.Mutex
		made := map[uint64]int{}
		var order []uint64
		for i := range 41 {
			by, sequence := pastReader{"many", 30, 40}, uint64(1+i%20) //nolint:gosec // a small number
			if i >= 38 {
				by, sequence = pastReader{"few", 30, 40}, uint64(i-15) //nolint:gosec // a small number
			}
			if i == 40 {
				by, sequence = pastReader{"other", 30, 40}, 23
			}
			go func() {
				_, release, err := m.pasts.take(t.Context(), by, sequence, func() (*engine.Past, error) {
					mu.Lock()
					made[sequence]++
					order = append(order, sequence)
					mu.Unlock()
					time.Sleep(time.Second)
					past, _, err := m.Handler.Past(t.Context(), sequence)
					return past, err
				})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Hour) // so that all are in use
				release()
			}()
		}
		time.Sleep(time.Minute)
		mu.Lock()
		for sequence, n := range made {
			if n != 1 {
				t.Errorf("the state after event %d was made %d times", sequence, n)
			}
		}
		for i, sequence := range order {
			if sequence > 20 && i > 4 {
				t.Errorf("the few wait for %d others", i)
			}
		}
		if len(made) != 22 {
			t.Errorf("%d states were made", len(made))
		}
		mu.Unlock()
		time.Sleep(2 * time.Hour)
	})
}

// Whatever readers do, the bounds hold, and nobody waits for ever.
func TestPastsAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoments(t)
		var readers sync.WaitGroup
		for i := range 30 {
			by := pastReader{fmt.Sprint("reader ", i%10), 2, pastsOthers}
			if i%10 == 0 {
				by = readerOf(m.admin().By)
			}
			random := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // a small number
			readers.Go(func() {
				for range 50 {
					ctx, cancel := context.WithTimeoutCause(t.Context(),
						time.Duration(random.IntN(3000))*time.Millisecond, errPastsTaken)
					sequence := 1 + random.Uint64N(20)
					_, release, err := m.pasts.take(ctx, by, sequence, func() (*engine.Past, error) {
						time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
						if random.IntN(10) == 0 {
							return nil, errPastsTaken
						}
						past, _, err := m.Handler.Past(t.Context(), sequence)
						return past, err
					})
					cancel()
					if err != nil {
						continue
					}
					m.pasts.mu.Lock()
					if m.pasts.total > pastsMost || m.pasts.used[by.name] > by.most {
						t.Errorf("%d in use, %d of %s", m.pasts.total, m.pasts.used[by.name], by.name)
					}
					m.pasts.mu.Unlock()
					time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
					release()
				}
			})
		}
		readers.Wait()
		m.pasts.mu.Lock()
		if m.pasts.total != 0 || len(m.pasts.used) != 0 || len(m.pasts.making) != 0 || len(m.pasts.states) > pastsKept {
			t.Errorf("left: %d in use, %v, %v", m.pasts.total, m.pasts.used, m.pasts.making)
		}
		m.pasts.mu.Unlock()
		time.Sleep(pastIdle)
	})
}

// The reader of a moment uses its place until its call ends.
func TestLookBackUsesAPlaceUntilTheCallEnds(t *testing.T) {
	m := newMoments(t)
	c := m.admin()
	admission, err := m.Admit(t.Context(), c, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	c.asks = "task-list"
	if err := m.LookBack(t.Context(), c, "3"); err != nil || m.pasts.total != 1 {
		t.Errorf("%d places in use: %v", m.pasts.total, err)
	}
	admission.Leave()
	if m.pasts.total != 0 {
		t.Errorf("%d places in use after the call", m.pasts.total)
	}
	if r := readerOf(commands.SessionActor("p", "s", commands.AuthnToken)); r.all >= pastsMost {
		t.Error("sessions may use all places")
	}
}

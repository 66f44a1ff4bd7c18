package clock

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// machine has two clocks that a test moves.
type machine struct {
	wall time.Time
	boot time.Duration
}

func newMachine() *machine {
	return &machine{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), boot: 17 * time.Hour}
}

func (m *machine) clock() *Clock {
	return New(func() time.Time { return m.wall }, func() time.Duration { return m.boot })
}

func (m *machine) pass(d time.Duration) { m.wall, m.boot = m.wall.Add(d), m.boot+d }

const year = 365 * 24 * time.Hour

func TestFollowsTheWallClock(t *testing.T) {
	m := newMachine()
	c := m.clock()
	for _, step := range []time.Duration{0, time.Millisecond, time.Second, -time.Minute, 59 * time.Minute} {
		m.pass(2 * time.Hour)
		m.wall = m.wall.Add(step)
		m.pass(20 * time.Minute) // long enough to lose its lead after a step back
		if got := c.Now(); !got.Equal(m.wall) {
			t.Errorf("after a step of %s the Clock shows %s, and the wall clock %s", step, got, m.wall)
		}
		if s := c.Status(); s.Jumped || s.Ahead() != 0 {
			t.Errorf("after a step of %s: %+v", step, s)
		}
	}
}

func anyTime(time.Time) error { return nil }

// A wall clock with an impossible time cannot be confirmed.
func TestConfirmAsks(t *testing.T) {
	m := newMachine()
	c := m.clock()
	m.wall = m.wall.Add(200 * year)
	before, refused := c.Now(), errors.New("too late")
	_, jumped, err := c.Confirm(func(wall time.Time) error {
		if !wall.Equal(m.wall) {
			t.Errorf("it asks for a confirmation of %s", wall)
		}
		return refused
	})
	if s := c.Status(); !errors.Is(err, refused) || !jumped || !s.Jumped || !s.Now.Equal(before) {
		t.Errorf("%t, %v, then %+v", jumped, err, s)
	}
}

// A wall clock that jumps is not followed until it is confirmed, or comes back.
func TestJump(t *testing.T) {
	for _, jump := range []time.Duration{30 * year, -30 * year, 61 * time.Minute, -61 * time.Minute} {
		m := newMachine()
		c := m.clock()
		m.pass(time.Hour)
		m.wall = m.wall.Add(jump)
		m.pass(time.Hour)
		want := m.wall.Add(-jump)
		if got := c.Now(); !got.Equal(want) {
			t.Errorf("%s: the Clock shows %s, expected %s", jump, got, want)
		}
		if s := c.Status(); !s.Jumped || s.Moved != jump || s.Ahead() != 0 {
			t.Errorf("%s: %+v", jump, s)
		}
		m.wall = m.wall.Add(-jump)
		if s := c.Status(); s.Jumped || !s.Now.Equal(m.wall) {
			t.Errorf("%s, and back: %+v", jump, s)
		}
		m.wall = m.wall.Add(jump)
		before := c.Now()
		if was, jumped, err := c.Confirm(anyTime); err != nil || !jumped || was.Moved != jump {
			t.Errorf("%s: the confirmation returned %+v", jump, was)
		}
		if _, again, _ := c.Confirm(anyTime); again {
			t.Errorf("%s: the jump could be confirmed twice", jump)
		}
		if jump > 0 {
			before = m.wall
		}
		if s := c.Status(); s.Jumped || !s.Now.Equal(before) {
			t.Errorf("%s, confirmed: %+v, expected %s", jump, s, before)
		}
	}
}

// If the log's newest event is in the future, the Clock continues from there, and does not stand still.
func TestFollowsTheLog(t *testing.T) {
	m := newMachine()
	c := m.clock()
	newest := m.wall.Add(30 * year)
	c.Follow(newest)
	c.Follow(newest.Add(-time.Hour))
	if s := c.Status(); !s.Now.Equal(newest) || s.Ahead() != 30*year || s.Jumped {
		t.Errorf("got %+v", s)
	}
	m.pass(10 * time.Second)
	if got, want := c.Now(), newest.Add(9*time.Second); !got.Equal(want) {
		t.Errorf("ten seconds later the Clock shows %s, expected %s", got, want)
	}
	m = newMachine()
	c = m.clock()
	c.Follow(m.wall.Add(time.Minute))
	for range 100 {
		m.pass(6 * time.Second)
		_ = c.Now()
	}
	if s := c.Status(); s.Ahead() != 0 {
		t.Errorf("the wall clock never catches up: %+v", s)
	}
}

// Whatever happens to the wall clock, the Clock advances at nine tenths of the real pace or faster, and is never ahead
// of the real time by more than the tolerance.
func TestAnyWallClock(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		m := newMachine()
		c := m.clock()
		real, last := m.wall, c.Now()
		for range 200 {
			d := time.Duration(rng.Int64N(int64(time.Minute)))
			if rng.IntN(20) == 0 {
				d = 8 * time.Hour
			}
			m.pass(d)
			real = real.Add(d)
			switch rng.IntN(10) {
			case 0:
				m.wall = real.Add(time.Duration(rng.Int64N(int64(60*year))) - 30*year)
			case 1:
				m.wall = real.Add(time.Duration(rng.Int64N(int64(4*time.Hour))) - 2*time.Hour)
			case 2:
				m.wall = real
			}
			now := c.Now()
			if went := now.Sub(last); went < d/10*pace {
				t.Fatalf("%s passed, and the Clock advanced by %s", d, went)
			}
			if ahead := now.Sub(real); ahead > Tolerance {
				t.Fatalf("the Clock is %s ahead of the real time", ahead)
			}
			last = now
		}
	}
}

func TestBoot(t *testing.T) {
	first := Boot()
	if second := Boot(); first <= 0 || second < first {
		t.Errorf("the Clock went from %s to %s", first, second)
	}
}

package clock

import (
	"sync"
	"time"
)

const (
	// Tolerance is how far the wall clock may deviate from the time since boot before it is no longer trusted.
	Tolerance = time.Hour
	// Notable is how far the Clock may be ahead of the wall clock before that is reported.
	Notable = 5 * time.Second
	// pace is the speed, in tenths of the real one, of a Clock that lets the wall clock catch up.
	pace = 9
)

// Clock is the clock of one process. It is safe for concurrent use.
type Clock struct {
	wall func() time.Time
	boot func() time.Duration

	mu sync.Mutex
	// anchorWall and anchorBoot are the two clocks when they were last taken to agree.
	anchorWall time.Time
	anchorBoot time.Duration
	// now is the time that the Clock last showed, and at that moment as time since boot.
	now time.Time
	at  time.Duration
	// moved is the deviation of the wall clock since the anchor; jumped says that it is too large.
	moved  time.Duration
	jumped bool
	seen   time.Time // the wall clock, at the last reading
}

// New returns a clock that trusts the present wall clock. boot is the time since some moment; it only grows, and it
// counts the machine's sleep.
func New(wall func() time.Time, boot func() time.Duration) *Clock {
	c := &Clock{wall: wall, boot: boot}
	c.anchor(wall().Round(0), boot())
	c.now, c.at = c.anchorWall, c.anchorBoot
	return c
}

func (c *Clock) anchor(wall time.Time, boot time.Duration) {
	c.anchorWall, c.anchorBoot, c.seen = wall, boot, wall
	c.moved, c.jumped = 0, false
}

// Now returns the time, which never decreases.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.now
}

// read advances the Clock. The caller holds mu.
func (c *Clock) read() {
	wall, boot := c.wall().Round(0), c.boot() // without its monotonic reading
	passed := max(boot-c.at, 0)
	c.seen, c.at = wall, boot
	c.moved = wall.Sub(c.anchorWall) - (boot - c.anchorBoot)
	c.jumped = c.moved.Abs() > Tolerance
	if c.jumped {
		c.now = c.now.Add(passed)
		return
	}
	// Wait for a wall clock that is behind, but without standing still: otherwise deadlines would not come.
	c.now = c.now.Add(passed / 10 * pace)
	if wall.After(c.now) {
		c.now = wall
	}
}

// Follow gives the Clock the time of the newest event: if the Clock is behind, it continues from there.
func (c *Clock) Follow(newest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if newest.After(c.now) {
		c.now = newest
	}
}

// Confirm trusts the wall clock from now on, and reports whether it was in doubt. A Clock that is ahead stays ahead
// until the wall clock has caught up. It changes nothing if check rejects the time of the wall clock.
func (c *Clock) Confirm(check func(wall time.Time) error) (was Status, jumped bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	was = c.status()
	if err := check(was.Wall); err != nil {
		return was, was.Jumped, err
	}
	if was.Jumped {
		c.anchor(c.seen, c.at)
		if c.seen.After(c.now) {
			c.now = c.seen
		}
	}
	return was, was.Jumped, nil
}

// Status is the time of a Clock, compared with the wall clock.
type Status struct {
	// Now is the time of the Clock, Wall that of the wall clock.
	Now, Wall time.Time
	// Jumped says that the wall clock has deviated by Moved, which is more than Tolerance, and is not followed.
	Jumped bool
	Moved  time.Duration
}

// Ahead is how far the Clock is ahead of a wall clock that it follows.
func (s Status) Ahead() time.Duration {
	if s.Jumped {
		return 0
	}
	return s.Now.Sub(s.Wall)
}

// Status reads the clock.
func (c *Clock) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.status()
}

func (c *Clock) status() Status {
	return Status{
		Now:    c.now,
		Wall:   c.seen,
		Jumped: c.jumped,
		Moved:  c.moved,
	}
}

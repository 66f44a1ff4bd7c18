package clock

import (
	"sync"
	"time"
)

const (
	// Tolerance is how far the wall clock may move against the time since the machine's start before it is not trusted.
	Tolerance = time.Hour
	// Notable is how far the Clock may be ahead of the wall clock before it is worth a message.
	Notable = 5 * time.Second
	// pace is the part of the real pace, in tenths, at which a Clock that is ahead of the wall clock lets it catch up.
	pace = 9
)

// Clock is the clock of one process. Safe for concurrent use.
type Clock struct {
	wall func() time.Time
	boot func() time.Duration

	mu sync.Mutex
	// anchorWall and anchorBoot are when the two clocks were last taken to agree.
	anchorWall time.Time
	anchorBoot time.Duration
	// now and at are what the Clock showed last, and when by the time since the machine's start.
	now time.Time
	at  time.Duration
	// moved is by how much the wall clock has moved since the anchor; jumped says that it is too much.
	moved  time.Duration
	jumped bool
	seen   time.Time // the wall clock, at the last reading
}

// New makes a clock that takes the wall clock to be right now. boot is the time since some moment; it only grows, and
// it counts the time in which the machine sleeps.
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

// Now returns the time. It is never before what it gave earlier.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.now
}

// read moves the Clock on; mu is held.
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
	// A wall clock that is behind is waited for, and not by standing still: that would keep deadlines from coming.
	c.now = c.now.Add(passed / 10 * pace)
	if wall.After(c.now) {
		c.now = wall
	}
}

// Follow tells the Clock the time of the newest event: it continues from there if it is behind it.
func (c *Clock) Follow(newest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if newest.After(c.now) {
		c.now = newest
	}
}

// Confirm takes the wall clock to be right from now on, and reports whether it was in doubt. A Clock that is ahead of
// it stays ahead until the wall clock has caught up. It changes nothing when check fails for what the wall clock shows.
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

// Status is what a Clock shows, and how that agrees with the wall clock.
type Status struct {
	// Now is what the Clock shows, Wall what the wall clock does.
	Now, Wall time.Time
	// Jumped says that the wall clock has moved by Moved, which is more than Tolerance, and is not followed.
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

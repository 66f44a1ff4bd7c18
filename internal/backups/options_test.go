package backups

import (
	"errors"
	"testing"
	"time"

	"maestro/internal/failure"
)

func TestOptionsSayWhenAndWhere(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		o      Options
		every  time.Duration
		bad    bool
		inside bool
	}{
		{Options{Every: "24h", Keep: 7}, 24 * time.Hour, false, false},
		{Options{Every: Off}, 0, false, false},
		{Options{Every: "100ms", Keep: 7}, 0, true, false},
		{Options{Every: "daily", Keep: 7}, 0, true, false},
		{Options{Every: "1h"}, 0, true, false},
		{Options{Every: "1h", Keep: 1, Dir: home}, time.Hour, false, true},
		{Options{Every: Off, Dir: home}, 0, false, true},
	} {
		every, err := c.o.Interval()
		var refused *failure.Error
		if every != c.every || errors.As(err, &refused) != c.bad {
			t.Errorf("%+v: %s, %v", c.o, every, err)
		}
		if err := c.o.CheckPlace(home, []string{home}); errors.As(err, &refused) != c.inside {
			t.Errorf("%+v in a home: %v", c.o, err)
		}
	}
}

// A schedule without backups ends at once, and reads nothing.
func TestNoScheduleWithoutAnInterval(t *testing.T) {
	s := New(Config{})
	s.Run(t.Context())
	if problem := s.Problem(); problem != "" {
		t.Errorf("the problem is %s", problem)
	}
}

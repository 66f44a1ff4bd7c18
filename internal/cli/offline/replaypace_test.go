package offline

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Events come in their time, divided by the speed; a pause that would be long is named and cut, and a clock that was
// set back causes none.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var named []time.Duration
		p := pace{speed: 60, say: func(gap time.Duration) { named = append(named, gap) }}
		at := time.Date(2026, 2, 2, 10, 0, 0, 0, time.UTC)
		for _, step := range []struct{ gap, want time.Duration }{
			{0, 0},
			{time.Minute, time.Second},
			{6 * time.Second, 100 * time.Millisecond},
			{0, 0},
			{3 * time.Hour, longestPause},
			{-time.Hour, 0},
			{time.Hour + 2*time.Minute, 2 * time.Second},
			{1 << 62, longestPause},
		} {
			at = at.Add(step.gap)
			begun := time.Now()
			if err := p.until(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begun); got != step.want {
				t.Errorf("after %s, it pauses for %s, not %s", step.gap, got, step.want)
			}
		}
		if len(named) != 2 || named[0] != 3*time.Hour {
			t.Errorf("it names %v", named)
		}
	})
}

// A pause ends at once when the command is interrupted; a very slow pace does not overflow.
func TestPaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := pace{speed: math.SmallestNonzeroFloat64, say: func(time.Duration) {}}
		at := time.Now()
		if err := p.until(ctx, at); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		if err := p.until(ctx, at.Add(time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		if got := time.Since(begun); got != time.Second {
			t.Errorf("it ends after %s", got)
		}
	})
}

func TestSpeeds(t *testing.T) {
	for speed, ok := range map[float64]bool{0.5: true, 1: true, 1e9: true, 0: false, -1: false, math.Inf(1): false} {
		if err := checkSpeed(speed); (err == nil) != ok {
			t.Errorf("--speed %v: %v", speed, err)
		}
	}
	if checkSpeed(math.NaN()) == nil {
		t.Error("--speed NaN is allowed")
	}
}

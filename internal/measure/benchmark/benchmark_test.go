package benchmark

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A figure is the median of the rounds' ratios, and is compared with its goal as an upper or a lower bound.
func TestFiguresAreComparedWithGoals(t *testing.T) {
	product, baseline := []float64{10, 30, 20}, []float64{10, 10, 40} // 1, 3, 0.5
	for _, c := range []struct {
		check Check
		ok    bool
	}{
		{atLeast("rate", 1, product, baseline, "u", "b"), true},
		{atLeast("rate", 1.1, product, baseline, "u", "b"), false},
		{atMost("time", 1, product, baseline, "u", "b"), true},
		{atMost("time", 0.9, product, baseline, "u", "b"), false},
	} {
		got := []float64{c.check.Value, c.check.Lowest, c.check.Highest, c.check.Product, c.check.Baseline}
		if !slices.Equal(got, []float64{1, 0.5, 3, 20, 10}) || c.check.OK != c.ok {
			t.Errorf("%+v", c.check)
		}
		if missed := strings.HasPrefix(c.check.verdict(), "MISSED"); missed == c.ok {
			t.Errorf("the verdict is %q", c.check.verdict())
		}
	}
}

// Product and baseline take turns. The first turn does not count, and the first error ends the run.
func TestTurns(t *testing.T) {
	order := ""
	count := func(name string, from float64) sample {
		return func() (float64, error) {
			order += name
			from++
			return from, nil
		}
	}
	figures, err := turns(2, count("p", 0), count("b", 10))
	if want := [][]float64{{2, 3}, {12, 13}}; err != nil || !reflect.DeepEqual(figures, want) || order != "pbpbpb" {
		t.Errorf("%v, %v, in the order %s", figures, err, order)
	}
	broken := errors.New("broken")
	if _, err := turns(2, func() (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestUnits(t *testing.T) {
	if rate, _ := perSecond(100, 2*time.Second, nil); rate != 50 {
		t.Errorf("%v a second", rate)
	}
	if each, _ := microseconds(100, 2*time.Second, nil); each != 20_000 {
		t.Errorf("%v µs each", each)
	}
}

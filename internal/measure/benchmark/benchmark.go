package benchmark

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"maestro/bus"
	"maestro/engine"
)

// Check is one figure checked against its goal.
type Check struct {
	Name string `json:"name"`
	// Value is a ratio to the baseline of the same run: of times where Bound is "at most", of rates where it is "at
	// least". Figures without a goal have no Bound.
	Value float64 `json:"value"`
	// Lowest and Highest are the ratios of single rounds between which Value lies.
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
	Goal    float64 `json:"goal"`
	Bound   string  `json:"bound"`
	OK      bool    `json:"ok"`
	// Product and Baseline are the medians that the figure comes from, in Unit; for people.
	Product  float64 `json:"product"`
	Baseline float64 `json:"baseline"`
	Unit     string  `json:"unit"`
	Against  string  `json:"against"`
}

// Options say where and how thoroughly to measure.
type Options struct {
	// Dir is an empty directory on the disk to measure; the caller removes it.
	Dir string
	// Rounds is how often product and baseline alternate; 5 if 0.
	Rounds int
	// Binary is the maestro to time as a command line; "" omits that.
	Binary string
	// API returns the server's HTTP handler over a Handler, what runs beside it, and the header that authenticates a
	// session.
	API func(
		h *engine.Handler, b *bus.Bus, project, session string,
	) (handler http.Handler, beside func(context.Context), authorization string, err error)
	// Admin is the header that authenticates the user to that handler.
	Admin string
	// Size, if above 0, measures what a log of so many events costs, and nothing else.
	Size int
	// Progress receives a line for each completed check.
	Progress io.Writer
}

// Run measures all checks, one after the other.
func Run(ctx context.Context, o Options) ([]Check, error) {
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	suites := []func(context.Context, Options, func(Check)) error{
		durable, units, interval, replay, queues,
		overHTTP, outside, spawns, listing, live, moments, commandLine,
	}
	if o.Size > 0 {
		suites = []func(context.Context, Options, func(Check)) error{sizes, moments}
	}
	var checks []Check
	for _, suite := range suites {
		err := suite(ctx, o, func(c Check) {
			checks = append(checks, c)
			fmt.Fprintf(o.Progress, "%-26s %6.2f  %-13s (%s)  %s\n",
				c.Name, c.Value, c.spread(), c.aim(), c.verdict())
		})
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// spread shows between which rounds the value lies.
func (c Check) spread() string {
	if c.Lowest == c.Highest {
		return ""
	}
	return fmt.Sprintf("%.2f-%.2f", c.Lowest, c.Highest)
}

func (c Check) aim() string {
	if c.Bound == "" {
		return "no goal"
	}
	return fmt.Sprintf("goal: %s %g", c.Bound, c.Goal)
}

func (c Check) verdict() string {
	word := "ok"
	if !c.OK {
		word = "MISSED"
	}
	return fmt.Sprintf("%s: %.4g %s, against %.4g of %s", word, c.Product, c.Unit, c.Baseline, c.Against)
}

// sample measures once and returns a figure.
type sample func() (float64, error)

// turns alternates between the product and its baselines, with the first turn uncounted, and returns their figures, a
// row for each.
func turns(rounds int, each ...sample) ([][]float64, error) {
	figures := make([][]float64, len(each))
	for round := range rounds + 1 {
		for i, measure := range each {
			figure, err := measure()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				figures[i] = append(figures[i], figure)
			}
		}
	}
	return figures, nil
}

// atLeast compares rates, round by round.
func atLeast(name string, goal float64, product, baseline []float64, unit, against string) Check {
	c := compared(name, goal, product, baseline, unit, against)
	c.Bound, c.OK = "at least", c.Value >= goal
	return c
}

// atMost compares times, round by round.
func atMost(name string, goal float64, product, baseline []float64, unit, against string) Check {
	c := compared(name, goal, product, baseline, unit, against)
	c.Bound, c.OK = "at most", c.Value <= goal
	return c
}

func compared(name string, goal float64, product, baseline []float64, unit, against string) Check {
	rounds := ratios(product, baseline)
	return Check{
		Name:     name,
		Value:    median(rounds),
		Lowest:   slices.Min(rounds),
		Highest:  slices.Max(rounds),
		Goal:     goal,
		OK:       true,
		Product:  median(product),
		Baseline: median(baseline),
		Unit:     unit,
		Against:  against,
	}
}

func ratios(product, baseline []float64) []float64 {
	values := make([]float64, len(product))
	for i := range product {
		values[i] = product[i] / baseline[i]
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func perSecond(n int, took time.Duration, err error) (float64, error) {
	return float64(n) / took.Seconds(), err
}

func microseconds(n int, took time.Duration, err error) (float64, error) {
	return float64(took.Microseconds()) / float64(n), err
}

// open opens a bus in a new directory.
func open(ctx context.Context, o Options, name string, durability bus.Durability) (*bus.Bus, error) {
	dir, err := os.MkdirTemp(o.Dir, name)
	if err != nil {
		return nil, err
	}
	return bus.Open(ctx, bus.Options{Dir: dir, Durability: durability})
}

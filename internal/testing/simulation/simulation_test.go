package simulation

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"maestro/commands"
	documents "maestro/internal/oracle"
	"maestro/internal/testing/race"
)

var (
	seeds = flag.Int("seeds", 120, "how many seeds TestSimulation runs")
	from  = flag.Uint64("from", 1, "the first seed of TestSimulation")
	seed  = flag.Uint64("seed", 1, "the seed that TestSeed runs")
	quick = flag.Bool("quick", false, "name each seed, and do not shorten a history that fails")
)

// TestSimulation runs many seeds. It stops at the first that breaks a promise and shows its history, shortened.
func TestSimulation(t *testing.T) {
	var events, calls, acked int
	seeds := race.Part(*seeds) // 'make sim' has all of them, and more
	for n := range uint64(seeds) {
		plan := NewPlan(*from + n)
		if *quick {
			fmt.Println("seed", plan.Seed) // to identify a seed that ends the process
		}
		result := Run(t, plan)
		events, calls, acked = events+result.Events, calls+result.Calls, acked+result.Acked
		if result.Failure != nil {
			report(t, plan, result)
			t.FailNow()
		}
	}
	t.Logf("%d seeds: %d calls, %d events, %d of them acknowledged", seeds, calls, events, acked)
}

// TestSeed runs one seed and shows its history.
func TestSeed(t *testing.T) {
	plan := NewPlan(*seed)
	result := Run(t, plan)
	if result.Failure != nil {
		report(t, plan, result)
		t.FailNow()
	}
	t.Logf("seed %d: %d calls, %d events\n%s", *seed, result.Calls, result.Events, result.Trace)
}

// TestSameSeedSameRun checks that a seed determines the whole run. `make sim` runs it, without the race detector.
func TestSameSeedSameRun(t *testing.T) {
	race.Without(t)
	for n := range uint64(12) {
		first, second := Run(t, NewPlan(n)), Run(t, NewPlan(n))
		if first.Trace != second.Trace {
			t.Fatalf("seed %d gave two histories:\n%s\n\n%s", n, first.Trace, second.Trace)
		}
	}
}

// TestVocabulary compares the commands that clients send with those that exist.
func TestVocabulary(t *testing.T) {
	for _, row := range documents.Table() {
		_, err := commands.Parse(row.ID, []byte("{}"))
		var refusal *commands.Refusal
		there := !errors.As(err, &refusal) || refusal.Code != commands.CodeNotFound
		if alias := strings.HasPrefix(row.ID, "task:report:"); there != asked(row.ID) && !alias {
			t.Errorf("%s is there: %t; clients ask for it: %t", row.ID, there, asked(row.ID))
		}
	}
}

func asked(id string) bool {
	return contains(vocabulary, id) || contains(beginnings, id) || contains(correspondence, id) ||
		contains(webhookCommands, id) || contains(runCommands, id)
}

func report(t *testing.T, plan Plan, result Result) {
	t.Helper()
	again := fmt.Sprintf("run it again with: go test ./internal/testing/simulation -run TestSeed -seed %d", plan.Seed)
	if *quick {
		t.Errorf("seed %d breaks a promise: %v\n%s", plan.Seed, result.Failure, again)
		return
	}
	short, shortest := Shrink(t, plan, 2000)
	t.Errorf(
		"seed %d breaks a promise: %v\n%s\n\n"+
			"shortened from %d steps to %d (servers: %d, everything held: %t, a snapshot every %d):\n%s",
		plan.Seed,
		result.Failure,
		again,
		len(plan.Steps),
		len(short.Steps),
		plan.Servers,
		plan.HoldAll,
		plan.SnapshotEvery,
		shortest.Trace,
	)
}

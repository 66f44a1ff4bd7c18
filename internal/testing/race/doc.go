// Package race tells tests whether they run under the race detector, which slows them down and shuffles the scheduler.
// It imports testing alone. [Enabled] has a file for each case; [Without] and [Part] leave out what has nothing to find
// there: `make test` finds the calls of the first, and runs those tests without the detector.
package race

import "testing"

// Without skips a test under the race detector: it takes long there, and what its goroutines share, those of other
// tests share too; or it measures what the detector changes.
func Without(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("it runs without the race detector")
	}
}

// Part is n, or a fifth of it under the race detector. It is for repetitions that run in full without it: a race shows
// in a few of them.
func Part(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}

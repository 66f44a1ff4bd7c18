// Package race tells tests whether they run under the race detector, which slows them down and shuffles the scheduler.
// It imports nothing. [Enabled] has a file for each case; [Part] shortens what another pass does in full.
package race

// Part is n, or a fifth of it under the race detector. It is for repetitions in packages that `make test` also runs
// without the detector: a race shows in a few of them.
func Part(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}

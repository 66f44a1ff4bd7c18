package main

import "time"

// longestWait is how long a test waits for something outside of itself before it fails. It is no measure of how long
// that takes: a machine that does much else may stall for many seconds.
const longestWait = 3 * time.Minute

// comes reports whether a condition comes to hold within longestWait. What it asks about is outside of the test, which
// leaves it time between two checks: at first 20 ms, later about a tenth of what it has waited.
func comes(holds func() bool) bool {
	pause := 20 * time.Millisecond
	for deadline := time.Now().Add(longestWait); ; {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(pause*11/10, 500*time.Millisecond)
	}
}

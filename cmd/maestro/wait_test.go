package main

import "time"

// longestWait is how long a test waits for something outside of itself before it fails. It is no measure of how long
// that takes: a machine that does much else may stall for many seconds.
const longestWait = 3 * time.Minute

// comes reports whether a condition comes to hold within longestWait. What it asks about is outside of the test, which
// leaves it time between two checks.
func comes(holds func() bool) bool {
	for deadline := time.Now().Add(longestWait); ; {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

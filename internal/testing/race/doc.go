// Package race tells tests whether they run under the race detector, which slows them down and shuffles the scheduler.
// It imports nothing. Its one constant, [Enabled], has a file for each case.
package race

//go:build race

package simulation

// shuffled says that the race detector shuffles the scheduler, so that the order of simultaneous events can differ
// between runs.
const shuffled = true

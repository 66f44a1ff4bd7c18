//go:build !race

package simulation

// shuffled says that the race detector shuffles the scheduler.
const shuffled = false

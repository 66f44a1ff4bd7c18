//go:build race

package simulation

// shuffled says that the race detector shuffles the scheduler, so that a run can come to another order of what happens
// at one moment.
const shuffled = true

// Package clock provides the time for the stamps of events and for deadlines.
//
// A machine has two clocks: the wall clock, which somebody may set, and the time since boot, which only moves forward
// and counts sleep. A [Clock] follows the wall clock as long as the two agree. If the wall clock deviates by more than
// [Tolerance] from the other one, the Clock follows the other one until an operator confirms the wall clock. It never
// goes back and never stands still, so every deadline is eventually reached.
package clock
